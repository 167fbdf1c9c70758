//! The program as its users meet it: every test starts it, with small C programs compiled on the spot.

mod audited;
mod commands;
mod doctor;
mod environment;
mod output;
mod run;
mod signals;
mod support;
mod trace;
mod untrusted;
