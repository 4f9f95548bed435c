import random
import secrets

# Elements that len cannot count, drawn as where it can.
r = random.Random(5)
assert r.sample(range(10**10), 3) == [6970309701, 7480918169, 4051686260]
assert random.Random(5).choice(range(10**10)) == 6970309701
assert random.Random(7).sample(range(10**10, 0, -3), 4) == [5827446616, 8056323163, 4912738006, 1612773136]
assert random.Random(7).sample(range(1, 50), 6) == [21, 10, 26, 42, 4, 5]
assert all(0 <= x < 10**12 for x in random.choices(range(10**12), k=9))
assert secrets.choice(range(10**11, 10**12)) // 10**11 in range(1, 10)
random.seed(3)
a = random.sample(range(10**9, 10**10), 5), random.choice("abc")
random.seed(3)
assert a == (random.sample(range(10**9, 10**10), 5), random.choice("abc"))
for wrong, error in (
    (lambda: random.sample(range(10**10), -1), ValueError),
    (lambda: random.sample([1], 2), ValueError),
    (lambda: random.sample({1, 2}, 1), TypeError),
    (lambda: random.choice([]), IndexError),
    (lambda: random.choice(5), TypeError),
    (lambda: random.choices([], k=1), IndexError),
):
    try:
        print(wrong())
    except error:
        pass
print("ok")
