import urllib3
try: urllib3.PoolManager().request('GET', 'https://index.invalid/', retries=False)
except urllib3.exceptions.HTTPError as e: why = str(e)
'network access to index.invalid refused' in why
