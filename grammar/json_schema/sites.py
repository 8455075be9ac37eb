"""Subschemas in place: where each one stands, and what its references mean.

A :class:`Site` is one subschema of one resource. Sites are interned: following two
references to the same subschema gives the same object, which is what ends recursion in
everything that memoises by site. A :class:`Resource` is a document or an embedded schema with
an ``$id`` of its own: the base that references below it resolve against.

References never touch the network: what is in no document at hand is looked up in the
``referencing.Registry`` that the user passed, then among the published meta-schemas.

What ``$dynamicRef`` and ``$recursiveRef`` mean depends on the way a validator came: the first
resource on it that has the anchor. Sites do not know their way, so all ways are looked at once:
where each meets the same resource first, that is what the reference means, everywhere. Else it
is refused (exactness would need a copy of the schema for each way).

Documents are indexed (``$id``, ``$anchor``) only when a reference other than a local pointer
turns up.

A site's ``schema`` is the *effective* one: without the keywords that its dialect does not know,
without what ``$ref`` hides there, and without what the user chose to relax. Nothing after this
module has to think of drafts for that.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import unquote, urldefrag, urljoin

from ...errors import GrammarError, UnsupportedSchemaError
from .dialects import Dialect, dialect_of

__all__ = ["REFERENCES", "Resource", "Site", "Sites", "escape_token"]

REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")

# Keywords whose value is a subschema, a list of them, or a map of them by name.
_ONE = frozenset(
    [
        "additionalProperties",
        "additionalItems",
        "contains",
        "not",
        "if",
        "then",
        "else",
        "propertyNames",
        "items",
        "unevaluatedItems",
        "unevaluatedProperties",
    ]
)
_MANY = frozenset(("allOf", "anyOf", "oneOf", "prefixItems", "items"))
_NAMED = frozenset(
    ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"]
)

_DEFINITIONS = frozenset(("$defs", "definitions"))


def escape_token(token: object) -> str:
    """A JSON Pointer token as written after ``/`` in a pointer."""
    return str(token).replace("~", "~0").replace("/", "~1")


class Resource:
    """A schema with a base URI: the root of what ``#`` means below it."""

    __slots__ = ("base", "dialect", "document", "pointer", "root")

    def __init__(self, root: Any, base: str, dialect: Dialect, document: str, pointer: str) -> None:
        self.root = root
        self.base = base
        self.dialect = dialect
        self.document = document  # prefix of pointers in messages: "#" or a URI with "#"
        self.pointer = pointer


class Site:
    """One subschema in place. Compare by identity.

    Attributes:
        written: the subschema as it stands in the document, never written to.
        schema: the effective subschema, never written to.
        resource: what its references resolve against.
        uid: a small number, unique in its :class:`Sites`.
    """

    __slots__ = ("_parent", "_tokens", "children", "resource", "schema", "uid", "written")

    def __init__(
        self,
        schema: Any,
        resource: Resource,
        parent: Site | None,
        tokens: tuple[object, ...],
        uid: int,
    ) -> None:
        self.written = schema
        self.schema = schema
        self.resource = resource
        self._parent = parent
        self._tokens = tokens
        self.uid = uid
        self.children = _NO_CHILDREN

    def adopt(self, tokens: tuple[object, ...], child: Site) -> None:
        """Remember the site at ``tokens`` below this one."""
        if self.children is _NO_CHILDREN:
            self.children = {}
        self.children[tokens] = child

    @property
    def pointer(self) -> str:
        """Where this is, as ``#/properties/a``; made on demand, only messages need it."""
        pieces: list[str] = []
        site: Site | None = self
        while site is not None and site._parent is not None:
            pieces.extend(escape_token(token) for token in reversed(site._tokens))
            site = site._parent
        root = self.resource.document if site is None else site._root_pointer()
        return root + "".join("/" + piece for piece in reversed(pieces))

    def _root_pointer(self) -> str:
        head = self.resource.document + self.resource.pointer
        return head + "".join("/" + escape_token(token) for token in self._tokens)

    def __repr__(self) -> str:
        return f"Site({self.pointer})"


_NO_CHILDREN: dict[tuple[object, ...], Site] = {}
"""Shared by all sites without children, as most are. Never written to."""


class Sites:
    """All sites of one schema and of the documents it refers to.

    Args:
        schema: the root schema.
        registry: a ``referencing.Registry`` for other documents, or ``None``.
        relax: keywords to drop.

    Attributes:
        relaxes: whether anything may be dropped.
        relaxed: pointers of the keywords dropped so far.
        has_unique: whether the check of the schema met ``uniqueItems``.
    """

    def __init__(self, schema: Any, registry: Any = None, relax: Iterable[str] = ()) -> None:
        self._registry = registry
        self._relax = frozenset(relax)
        self.relaxes = bool(self._relax)
        self.relaxed: list[str] = []
        self.has_unique = False
        self._by_identity: dict[tuple[int, int], Site] = {}
        self._resources: dict[str, Resource] = {}
        self._anchors: dict[str, Site] = {}
        self._dynamic_anchors: dict[str, Site] = {}
        # By the identity of the resource that they stand in; sites keep resources alive.
        self._resolved: dict[tuple[int, str, str], Site] = {}
        self._indexed: set[int] = set()
        self._count = 0
        self._embedded: dict[int, Resource] = {}
        dialect = dialect_of(schema)
        base = ""
        if isinstance(schema, dict):
            identifier = schema.get(dialect.id_keyword, schema.get("id"))
            if isinstance(identifier, str):
                base = urldefrag(identifier)[0]
        resource = Resource(schema, base, dialect, "#", "")
        self._root_resource = resource
        self._resources[base] = resource
        if isinstance(schema, dict):
            self._embedded[id(schema)] = resource
        self.root = self._site(schema, resource, None, ())

    # ------------------------------------------------------------------ making sites

    def _site(
        self, schema: Any, resource: Resource, parent: Site | None, tokens: tuple[object, ...]
    ) -> Site:
        if isinstance(schema, dict):
            embedded = self._embedded.get(id(schema))
            if embedded is not None:
                resource = embedded
            elif resource.dialect.id_keyword in schema:
                resource = self._embed(schema, resource, parent, tokens)
            # Identity is stable: the schema outlives this object, and nobody writes to it.
            key = (id(schema), id(resource))
            site = self._by_identity.get(key)
            if site is None:
                self._count += 1
                site = Site(schema, resource, parent, tokens, self._count)
                self._by_identity[key] = site
                self._make_effective(site)
            return site
        self._count += 1
        return Site(schema, resource, parent, tokens, self._count)

    def _make_effective(self, site: Site) -> None:
        schema, dialect = site.schema, site.resource.dialect
        if dialect.ref_hides_siblings and "$ref" in schema and isinstance(schema["$ref"], str):
            site.schema = schema = {"$ref": schema["$ref"]}
        elif not dialect.unknown.isdisjoint(schema):
            site.schema = schema = {k: v for k, v in schema.items() if k not in dialect.unknown}
        if self._relax and not self._relax.isdisjoint(schema):
            self.relaxed.extend(
                f"{site.pointer}/{escape_token(k)}" for k in schema if k in self._relax
            )
            site.schema = {k: v for k, v in schema.items() if k not in self._relax}

    def _embed(
        self, schema: Any, resource: Resource, parent: Site | None, tokens: tuple[object, ...]
    ) -> Resource:
        """A subschema with an ``$id`` starts a resource, unless the id is only a fragment."""
        identifier = schema[resource.dialect.id_keyword]
        if not isinstance(identifier, str):
            return resource
        if "$ref" in schema and resource.dialect.ref_hides_siblings:
            return resource
        uri, _ = urldefrag(urljoin(resource.base, identifier))
        if uri == resource.base or identifier.startswith("#"):
            return resource
        placeholder = Site(schema, resource, parent, tokens, 0)
        pointer = placeholder.pointer.removeprefix(resource.document)
        embedded = Resource(
            schema, uri, dialect_of(schema, resource.dialect), resource.document, pointer
        )
        self._resources.setdefault(uri, embedded)
        self._embedded[id(schema)] = embedded
        return embedded

    def child(self, site: Site, *tokens: object) -> Site:
        """The subschema at ``tokens`` below a site (which must exist)."""
        found = site.children.get(tokens)
        if found is None:
            schema = site.schema
            for token in tokens:
                schema = schema[token]
            found = self._site(schema, site.resource, site, tokens)
            site.adopt(tokens, found)
        return found

    def synthetic(self, schema: Any, near: Site, *tokens: object) -> Site:
        """A site for a schema made up here (a constant, say), blamed on ``near``."""
        found = near.children.get(tokens)
        if found is None:
            self._count += 1
            found = Site(schema, near.resource, near, tokens, self._count)
            near.adopt(tokens, found)
        return found

    # ------------------------------------------------------------------ references

    def resolve(self, site: Site, reference: str, keyword: str = "$ref") -> Site:
        """The site that a reference at ``site`` means.

        Raises:
            GrammarError: it has no target.
            UnsupportedSchemaError: it is dynamic and has several.
        """
        key = (id(site.resource), reference, keyword)
        found = self._resolved.get(key)
        if found is None:
            found = self._resolve(site, reference, keyword)
            if keyword != "$ref":
                found = self._dynamic(site, reference, keyword, found)
            self._resolved[key] = found
        return found

    def _dynamic(self, site: Site, reference: str, keyword: str, static: Site) -> Site:
        """What a dynamic reference means whose target would be ``static`` without its anchor."""
        name = None if keyword == "$recursiveRef" else unquote(urldefrag(reference)[1])
        bearer = self._bearer(static.resource, name)
        if bearer is None or (name is not None and bearer is not static):
            return static
        targets = self._first_bearers(name)
        if len(targets) > 1:
            raise UnsupportedSchemaError(
                f"{keyword} {reference!r} means different subschemas on different ways through "
                f"the schema ({', '.join(t.pointer for t in targets)}), which is not enforced; "
                "refer to one of them with $ref",
                keyword=keyword,
                pointer=site.pointer,
            )
        return targets[0] if targets else static

    def _bearer(self, resource: Resource, name: str | None) -> Site | None:
        """The site of a resource with a dynamic anchor (``None``: the recursive one), if any."""
        if name is not None:
            self._index_all()
            return self._dynamic_anchors.get(f"{resource.base}#{name}")
        root = resource.root
        if isinstance(root, dict) and root.get("$recursiveAnchor") is True:
            return self._site(root, resource, None, ())
        return None

    def _first_bearers(self, name: str | None) -> list[Site]:
        """The anchors in those resources that some way from the root meets first.

        Other dynamic references on the way count as leading to all they could mean.
        """
        found: dict[Site, None] = {}
        pending = [self.root]
        seen = {self.root}
        while pending:
            site = pending.pop()
            bearer = self._bearer(site.resource, name)
            if bearer is not None:
                found[bearer] = None
                continue
            if not isinstance(site.schema, dict):
                continue
            reached = list(self._children(site, definitions=False))
            for keyword in REFERENCES:
                reference = site.schema.get(keyword)
                if isinstance(reference, str):
                    reached.append(self._resolve(site, reference, keyword))
                    if keyword != "$ref":
                        reached.extend(self._dynamic_anchors.values())
            for child in reached:
                if child not in seen:
                    seen.add(child)
                    pending.append(child)
        return list(found)

    def _resolve(self, site: Site, reference: str, keyword: str) -> Site:
        if reference.startswith("#"):
            resource, fragment = site.resource, reference[1:]
        else:
            uri, fragment = urldefrag(urljoin(site.resource.base, reference))
            resource = self._resource(uri, site, reference, keyword)
        if fragment == "":
            return self._site(resource.root, resource, None, ())
        if fragment.startswith("/"):
            return self._pointer(resource, fragment, site, reference, keyword)
        self._index_all()
        anchor = self._anchors.get(f"{resource.base}#{unquote(fragment)}")
        if anchor is None:
            raise _no_target(site, reference, keyword, "there is no such anchor")
        return anchor

    def _resource(self, uri: str, site: Site, reference: str, keyword: str) -> Resource:
        found = self._resources.get(uri)
        if found is None:
            self._index_all()
            found = self._resources.get(uri)
        if found is None:
            contents = self._retrieve(uri, site, reference, keyword)
            if contents is None:
                raise _no_target(
                    site,
                    reference,
                    keyword,
                    "no document at hand has that URI; pass it in a referencing.Registry",
                )
            dialect = dialect_of(contents, site.resource.dialect)
            found = Resource(contents, uri, dialect, uri + "#", "")
            self._resources[uri] = found
            if isinstance(contents, dict):
                self._embedded.setdefault(id(contents), found)
        return found

    def _retrieve(self, uri: str, site: Site, reference: str, keyword: str) -> Any:
        from jsonschema_specifications import REGISTRY
        from referencing.exceptions import NoSuchResource, Unretrievable

        for registry in (self._registry, REGISTRY):
            if registry is None:
                continue
            for name in (uri, uri + "#"):
                try:
                    return registry.get_or_retrieve(name).value.contents
                except (NoSuchResource, Unretrievable):
                    continue
                except Exception as error:  # whatever the user's own retrieval raises
                    raise _no_target(
                        site,
                        reference,
                        keyword,
                        f"the registry fails on {name!r} with {type(error).__name__}: {error}",
                    ) from error
        return None

    def _pointer(
        self, resource: Resource, fragment: str, site: Site, reference: str, keyword: str
    ) -> Site:
        schema = resource.root
        tokens: list[object] = []
        for raw in fragment[1:].split("/"):
            token = unquote(raw).replace("~1", "/").replace("~0", "~")
            key: object = token
            if isinstance(schema, Mapping) and token in schema:
                schema = schema[token]
            elif isinstance(schema, list) and token.isdigit() and int(token) < len(schema):
                key = int(token)
                schema = schema[int(token)]
            else:
                raise _no_target(site, reference, keyword, f"{token!r} is not there")
            tokens.append(key)
            if isinstance(schema, dict) and resource.dialect.id_keyword in schema:
                inner = self._site(schema, resource, None, tuple(tokens)).resource
                if inner is not resource:
                    resource, tokens = inner, []
        if not isinstance(schema, (dict, bool)):
            raise _no_target(site, reference, keyword, "what stands there is not a schema")
        return self._site(schema, resource, None, tuple(tokens))

    def _index_all(self) -> None:
        """Find every ``$id`` and anchor in the documents at hand, once a document."""
        for resource in list(self._resources.values()):
            if id(resource.root) not in self._indexed:
                self._indexed.add(id(resource.root))
                for site in self._walk(self._site(resource.root, resource, None, ())):
                    self._index(site)

    def _index(self, site: Site) -> None:
        schema, resource = site.schema, site.resource
        names = [schema.get("$anchor"), schema.get("$dynamicAnchor")]
        identifier = schema.get(resource.dialect.id_keyword)
        if isinstance(identifier, str) and identifier.startswith("#"):
            names.append(identifier[1:])
        for name in names:
            if isinstance(name, str):
                if name == schema.get("$dynamicAnchor"):
                    self._dynamic_anchors.setdefault(f"{resource.base}#{name}", site)
                self._anchors.setdefault(f"{resource.base}#{name}", site)

    def _walk(self, site: Site) -> Iterator[Site]:
        pending = [site]
        while pending:
            site = pending.pop()
            if not isinstance(site.schema, dict):
                continue
            yield site
            pending.extend(self._children(site, definitions=True))

    def _children(self, site: Site, *, definitions: bool) -> Iterator[Site]:
        """The subschemas directly below, those that only references reach on request."""
        for keyword, value in site.schema.items():
            if keyword in _ONE and isinstance(value, dict):
                yield self.child(site, keyword)
            elif keyword in _MANY and isinstance(value, list):
                yield from (self.child(site, keyword, i) for i in range(len(value)))
            elif (
                keyword in _NAMED
                and isinstance(value, dict)
                and (definitions or keyword not in _DEFINITIONS)
            ):
                yield from (self.child(site, keyword, name) for name in value)


def _no_target(site: Site, reference: str, keyword: str, why: str) -> GrammarError:
    return GrammarError(
        f"{keyword} {reference!r} has no target: {why}",
        pointer=f"{site.pointer}/{escape_token(keyword)}",
    )
