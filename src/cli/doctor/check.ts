/** The result of a check. `mend` is the command or action that fixes it. */
export interface Finding {
  name: string;
  state: 'ok' | 'warning' | 'broken';
  message: string;
  mend?: string;
  /** The fix that `gw doctor --fix` applies. */
  fix?: () => void;
}

export function ok(name: string, message: string): Finding {
  return { name, state: 'ok', message };
}

export function warning(name: string, message: string, mend: string): Finding {
  return { name, state: 'warning', message, mend };
}

export function broken(name: string, message: string, mend: string): Finding {
  return { name, state: 'broken', message, mend };
}
