import httpx2
try: httpx2.get('https://index.invalid/')
except httpx2.ConnectError as e: why = str(e)
'network access to index.invalid refused' in why
