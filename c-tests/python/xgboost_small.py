"""XGBoost: boosted trees by histograms, linear models and ranking on the device, beside the same on the processor."""

import numpy as np
import xgboost as xgb

rng = np.random.default_rng(3)
X = rng.standard_normal((800, 12)).astype(np.float32)
y = (X[:, 0] + X[:, 1] * X[:, 2] + 0.3 * rng.standard_normal(800) > 0).astype(np.float32)
X[rng.random(X.shape) < 0.05] = np.nan
data = xgb.DMatrix(X, y)


def trained(device, rounds=8, **more):
    settings = {"device": device, "tree_method": "hist", "objective": "binary:logistic", "max_depth": 4, "seed": 1, **more}
    return xgb.train(settings, data, rounds)


here, there = trained("cpu"), trained("cuda")
p, q = here.predict(data), there.predict(data)
print("accuracy above 0.85", bool(np.mean((q > 0.5) == y) > 0.85))
print("same answers for 97 %", bool(np.mean((p > 0.5) == (q > 0.5)) > 0.97))
there.set_param({"device": "cpu"})
print("predictions of one model agree", bool(np.allclose(q, there.predict(data), atol=1e-6)))
there.set_param({"device": "cuda"})
values = there.predict(data, pred_contribs=True)
print("contributions add up", bool(np.allclose(values.sum(axis=1), there.predict(data, output_margin=True), atol=1e-4)))
print("deterministic", bool((trained("cuda").predict(data) == q).all()))
groups = np.repeat(np.arange(40), 20)
ranked = xgb.train({"device": "cuda", "objective": "rank:ndcg", "max_depth": 3, "seed": 1}, xgb.DMatrix(X, y, qid=groups), 5)
print("ranking finite", bool(np.isfinite(ranked.predict(xgb.DMatrix(X, qid=groups))).all()))
