"""HTTP: what a live model answers and takes in, for programs and for the page.

`create_app` makes an application of a live model and settings; nothing here is global.
"""

from evichain.service.http.app import create_app
from evichain.service.http.keys import Key, Keys, KeyScope
from evichain.service.http.settings import ServiceSettings

__all__ = ["Key", "KeyScope", "Keys", "ServiceSettings", "create_app"]
