import dataclasses, datetime, orjson
@dataclasses.dataclass
class P: x: int; y: list
try: orjson.dumps({1: 2})
except TypeError as e: why = str(e)
(orjson.dumps({"a": P(1, [2.5, 1e-7, float("nan")]), "d": datetime.datetime(2024, 1, 2, tzinfo=datetime.UTC)}), orjson.loads('{"b": "é"}'.encode()), why,
 orjson.dumps([1], option=orjson.OPT_INDENT_2), orjson.dumps({"f": orjson.Fragment(b"[1]")}))
