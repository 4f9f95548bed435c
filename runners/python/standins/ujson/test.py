import ujson
ujson.dumps({'a': [1, 'x/y']}), ujson.loads('[1.5]')
