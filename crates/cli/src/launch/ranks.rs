//! The rank of this process in its job.
//!
//! Owns: the variables of the job launchers. Must not know: what a rank is used for.

/// Rank and size of the job, as far as the environment tells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rank {
    /// From 0; `None` outside any job.
    pub number: Option<u32>,
    /// How many there are.
    pub size: Option<u32>,
}

/// Rank and size, the innermost launcher first: `srun` may start `mpirun` or `torchrun`, whose
/// processes inherit srun's variables.
const VARIABLES: [(&str, &str); 5] = [
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("PMIX_RANK", "PMIX_SIZE"),
    ("PMI_RANK", "PMI_SIZE"),
    ("RANK", "WORLD_SIZE"),
    ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS"),
];

impl Rank {
    /// From this process's environment.
    pub fn here() -> Self {
        Rank::from(|name| std::env::var(name).ok())
    }

    fn from(variable: impl Fn(&str) -> Option<String>) -> Self {
        let number = |name: &str| variable(name)?.trim().parse::<u32>().ok();
        let found = VARIABLES.into_iter().find_map(|(rank, size)| {
            let size_found = number(size);
            // Any program may use the name RANK: alone it does not count.
            let believed = rank != "RANK" || size_found.is_some();
            number(rank).filter(|_| believed).map(|rank| (rank, size_found))
        });
        match found {
            Some((rank, size)) => Rank { number: Some(rank), size },
            None => Rank::default(),
        }
    }

    /// Whether this one prints the summary.
    pub fn prints(&self) -> bool {
        self.number.unwrap_or(0) == 0
    }

    /// Whether there are several ranks.
    pub fn several(&self) -> bool {
        self.number.is_some_and(|n| n > 0) || self.size.is_some_and(|size| size > 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rank(variables: &[(&str, &str)]) -> Rank {
        let find = |name: &str| variables.iter().find(|(n, _)| *n == name);
        Rank::from(|name| find(name).map(|(_, value)| value.to_string()))
    }

    #[test]
    fn the_innermost_launcher_counts() {
        assert_eq!(rank(&[]), Rank::default());
        let slurm = ("SLURM_PROCID", "1");
        assert_eq!(rank(&[slurm]).number, Some(1));
        let torchrun = [slurm, ("RANK", "5"), ("WORLD_SIZE", "8")];
        assert_eq!(rank(&torchrun), Rank { number: Some(5), size: Some(8) });
        assert_eq!(rank(&[("RANK", "5")]), Rank::default());
    }

    #[test]
    fn one_of_several() {
        assert!(!rank(&[]).several() && rank(&[]).prints());
        assert!(!rank(&[("PMI_RANK", "0"), ("PMI_SIZE", "1")]).several());
        assert!(rank(&[("PMI_RANK", "0"), ("PMI_SIZE", "2")]).several());
        let last = rank(&[("SLURM_PROCID", "3")]);
        assert!(last.several() && !last.prints());
    }
}
