from time import perf_counter

import pymupdf

found = 0
began = perf_counter()
for i in range(100):
    made = pymupdf.open()
    made.new_page().insert_text((72, 72), f"Page number {i}")
    data = made.tobytes()
    made.close()
    read = pymupdf.open(stream=data, filetype="pdf")
    found += read[0].get_text().strip() == f"Page number {i}"
    read.close()
elapsed = perf_counter() - began
print("RESULT pymupdf", found)
print(f"ELAPSED_MS {elapsed * 1000:.3f}")
