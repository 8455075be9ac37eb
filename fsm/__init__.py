"""From the IR to masks: vocabulary, byte automata, the lazy token FSM (see ``docs``).

Importing anything from here needs the kernels, so the first import on a machine compiles them.
"""

from ..kernels import compile_ahead

compile_ahead()
