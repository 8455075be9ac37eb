"""Logits and masks to tokens: bitmask operations, samplers, the generation loop.

Nothing is imported here, since a decoding loop that only needs bitmasks should not wait for the
rest; and nothing in these modules imports torch or transformers before a function that needs
them is called. The public names are those of the package itself.
"""
