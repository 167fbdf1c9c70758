"""CatBoost: a classifier and a regression trained on the device; the model is evaluated on the processor."""

import numpy as np
from catboost import CatBoostClassifier, CatBoostRegressor

rng = np.random.default_rng(5)
X = rng.standard_normal((600, 8))
label = (X[:, 0] * X[:, 1] > 0).astype(int)
target = 3 * X[:, 2] + X[:, 3] ** 2
common = {"task_type": "GPU", "devices": "0", "random_seed": 1, "verbose": 0, "allow_writing_files": False}
tree = CatBoostClassifier(iterations=40, depth=4, learning_rate=0.3, **common).fit(X, label)
print("accuracy above 0.9", bool((tree.predict(X) == label).mean() > 0.9))
line = CatBoostRegressor(iterations=60, depth=4, learning_rate=0.3, **common).fit(X, target)
print("error below a tenth", bool(np.var(line.predict(X) - target) < 0.1 * np.var(target)))
