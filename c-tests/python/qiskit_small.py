"""Qiskit Aer: state vector, unitary and density matrix of a circuit on the device, beside the processor."""

import numpy as np
from qiskit import QuantumCircuit, transpile
from qiskit_aer import AerSimulator

circuit = QuantumCircuit(5)
for n in range(5):
    circuit.h(n)
for n in range(4):
    circuit.cx(n, n + 1)
    circuit.rz(0.1 * n + 0.05, n + 1)
    circuit.t(n)
circuit.ccx(0, 2, 4)
circuit.swap(1, 3)
for method, save in (("statevector", "save_statevector"), ("unitary", "save_unitary"), ("density_matrix", "save_density_matrix")):
    asked = circuit.copy()
    getattr(asked, save)()
    found = []
    for device in ("CPU", "GPU"):
        simulator = AerSimulator(method=method, device=device)
        result = simulator.run(transpile(asked, simulator)).result()
        found.append(np.asarray(result.data()[save[5:]]))
    print(method, bool(np.abs(found[0] - found[1]).max() < 1e-12))
counted = circuit.copy()
counted.measure_all()
simulator = AerSimulator(method="statevector", device="GPU", seed_simulator=7)
counts = simulator.run(transpile(counted, simulator), shots=500).result().get_counts()
print("shots", sum(counts.values()))
