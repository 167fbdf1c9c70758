//! End-to-end tests: each test starts the program, with small C programs that it compiles itself.

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
