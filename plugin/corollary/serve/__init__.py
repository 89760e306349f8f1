"""``corollary serve``: a store over HTTP. SPARQL 1.1 Protocol, Graph Store Protocol, and a page to work with.

``app.application`` makes the ASGI application of a ``service.Service``. Needs the extra ``corollary[serve]``;
this file imports nothing, and only the command and tests import the others.

Invariants: the event loop never evaluates, parses or writes facts. Reads run in threads, each over one
snapshot. A change is one transaction of the store, and needs a token. Errors show no path of the machine.
"""
