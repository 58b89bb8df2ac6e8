/** The state of the daemon, as the header shows it. */
export type DaemonView =
  | { kind: 'unknown' }
  | { kind: 'running'; address: string; pid: number; startedAt: number }
  /** Its process is alive but does not answer. */
  | { kind: 'silent'; pid: number }
  | { kind: 'stopped' };
