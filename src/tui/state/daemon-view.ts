/** State of the daemon in the header. */
export type DaemonView =
  | { kind: 'unknown' }
  | { kind: 'running'; address: string; pid: number; startedAt: number }
  /** The process is alive but doesn't answer. */
  | { kind: 'silent'; pid: number }
  | { kind: 'stopped' };
