"""httpcore2 looks for the files in which a Linux has its certificates. There are none
here: the module ssl has the host's."""

import os
import ssl


def default_ssl_context(*, _trust_env=True):
    cafile = capath = None
    if _trust_env:
        cafile = os.environ.get("SSL_CERT_FILE")
        capath = None if cafile else os.environ.get("SSL_CERT_DIR")
    return ssl.create_default_context(cafile=cafile, capath=capath)
