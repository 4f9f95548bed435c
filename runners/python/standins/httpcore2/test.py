import httpcore2
try: httpcore2.request('GET', 'https://index.invalid/')
except httpcore2.ConnectError as e: why = str(e)
'network access to index.invalid refused' in why
