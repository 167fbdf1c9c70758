"""OpenMM, which compiles its kernels by NVRTC: water with ions by particle mesh Ewald, and forces by formula, in three precisions.

Energies, forces and positions after five steps are compared with those of its reference platform, which is plain C++.
"""

import random

import numpy as np
import openmm
from openmm import app, unit

random.seed(1)  # By which ions are put into the water.
field = app.ForceField("amber14-all.xml", "amber14/tip3p.xml")
box = app.Modeller(app.Topology(), [])
box.addSolvent(field, boxSize=openmm.Vec3(2, 2, 2) * unit.nanometers, neutralize=False, ionicStrength=0.5 * unit.molar)
system = field.createSystem(box.topology, nonbondedMethod=app.PME, nonbondedCutoff=0.8 * unit.nanometers, constraints=app.HBonds)
charges = next(force for force in system.getForces() if isinstance(force, openmm.NonbondedForce))
pairs = openmm.CustomNonbondedForce("0.1 * exp(-r * sqrt(k1 * k2)) * sin(4 * r)")
pairs.addPerParticleParameter("k")
for n in range(system.getNumParticles()):
    pairs.addParticle([1 + n % 3])
for n in range(charges.getNumExceptions()):
    pairs.addExclusion(*charges.getExceptionParameters(n)[:2])
pairs.setNonbondedMethod(pairs.CutoffPeriodic)
pairs.setCutoffDistance(0.7)
system.addForce(pairs)
angles = openmm.CustomCompoundBondForce(3, "5 * (angle(p1, p2, p3) - 1.8)^2 * distance(p1, p3)")
for n in range(0, 60, 3):
    angles.addBond([n, n + 1, n + 2])
system.addForce(angles)
for n, force in enumerate(system.getForces()):
    force.setForceGroup(n)


def run(platform, **properties):
    """Energies and forces of each kind of force, and the positions, after five steps."""
    copy = openmm.XmlSerializer.deserialize(openmm.XmlSerializer.serialize(system))
    steps = openmm.VerletIntegrator(0.001)
    context = openmm.Context(copy, steps, openmm.Platform.getPlatform(platform), properties)
    context.setPositions(box.positions)
    context.setVelocitiesToTemperature(300, 1)
    steps.step(5)
    states = [context.getState(getEnergy=True, getForces=True, groups=1 << n) for n in range(copy.getNumForces())]
    found = [(state.getPotentialEnergy()._value, state.getForces(asNumpy=True)._value) for state in states]
    return found, context.getState(getPositions=True).getPositions(asNumpy=True)._value


def near(found, wanted, allowed):
    return all(abs(e - f) <= allowed * max(1, abs(f)) and np.abs(a - b).max() <= 10 * allowed * max(np.abs(b).max(), 1e-9)
               for (e, a), (f, b) in zip(found, wanted))


wanted, there = run("Reference")
for precision, allowed in ("single", 5e-5), ("mixed", 5e-5), ("double", 5e-6):
    found, here = run("CUDA", Precision=precision)
    print(precision, near(found, wanted, allowed), bool(np.abs(here - there).max() < 1e-6))
