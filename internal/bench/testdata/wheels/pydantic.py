from datetime import datetime
from time import perf_counter

from pydantic import BaseModel, Field


class Tag(BaseModel):
    name: str
    weight: float = Field(ge=0)


class Event(BaseModel):
    id: int
    when: datetime
    tags: list[Tag]
    note: str | None = None


rows = [
    {
        "id": str(i),
        "when": f"2024-01-{i % 28 + 1:02}T03:04:05Z",
        "tags": [{"name": "a", "weight": i}, {"name": "b", "weight": "0.5"}],
    }
    for i in range(20_000)
]
total = 0
began = perf_counter()
for row in rows:
    event = Event.model_validate(row)
    total += event.id + event.when.day + len(event.tags)
elapsed = perf_counter() - began
print("RESULT pydantic", total)
print(f"ELAPSED_MS {elapsed * 1000:.3f}")
