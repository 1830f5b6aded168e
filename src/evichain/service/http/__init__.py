"""The HTTP interface of a live model, for programs and for the page.

`create_app` makes an application from a live model and settings; there is no global state.
"""

from evichain.service.http.app import create_app
from evichain.service.http.keys import Key, Keys, KeyScope
from evichain.service.http.settings import ServiceSettings

__all__ = ["Key", "KeyScope", "Keys", "ServiceSettings", "create_app"]
