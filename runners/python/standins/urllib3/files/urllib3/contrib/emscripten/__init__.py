"""urllib3's transport for Emscripten asks a browser's JavaScript. There is
none here, so the ordinary one is used, which asks the module socket."""


def inject_into_urllib3():
    pass
