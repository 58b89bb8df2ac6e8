/** The daemon as the header shows it. */
export type DaemonView =
  | { kind: 'unknown' }
  | { kind: 'running'; address: string; pid: number; startedAt: number }
  /** It lives and does not answer. */
  | { kind: 'silent'; pid: number }
  | { kind: 'stopped' };
