import type { Clock } from '../../src/clock.ts';
import type { Login } from '../../src/providers/subscriptions.ts';

/** What a unit of each kind uses of a five-hour window, in shares of it; the week is ten such windows. */
export interface PlanWeights {
  input: number;
  cached: number;
  output: number;
}

interface PlanServiceOptions {
  clock: Pick<Clock, 'now'>;
  kind: Login;
  /** By model. */
  weights: Readonly<Record<string, PlanWeights>>;
}

const HOUR_MS = 3_600_000;

/** A subscription's hidden accounts: real use and the rounded figures that its headers state. */
export function createPlanService({ clock, kind, weights }: PlanServiceOptions) {
  const windows = [
    { name: '5h', lengthMs: 5 * HOUR_MS, size: 1, used: 0, resetsAt: 0 },
    { name: '7d', lengthMs: 7 * 24 * HOUR_MS, size: 10, used: 0, resetsAt: 0 },
  ];

  function roll(): void {
    for (const window of windows) {
      if (window.resetsAt > clock.now()) continue;
      window.used = 0;
      // Vendors round resets.
      window.resetsAt = Math.ceil((clock.now() + window.lengthMs) / 60_000) * 60_000;
    }
  }

  function headers(): Record<string, string> {
    const stated = windows.map((window, i): Record<string, string> => {
      const { name, lengthMs, resetsAt } = window;
      const used = Math.min(1, window.used);
      const place = i === 0 ? 'primary' : 'secondary';
      return kind === 'claude'
        ? {
            [`anthropic-ratelimit-unified-${name}-utilization`]: used.toFixed(2),
            [`anthropic-ratelimit-unified-${name}-reset`]: String(resetsAt / 1_000),
            [`anthropic-ratelimit-unified-${name}-status`]: used >= 1 ? 'rejected' : 'allowed',
          }
        : {
            [`x-codex-${place}-used-percent`]: (used * 100).toFixed(0),
            [`x-codex-${place}-window-minutes`]: String(lengthMs / 60_000),
            [`x-codex-${place}-reset-at`]: String(resetsAt / 1_000),
          };
    });
    return Object.assign({ date: new Date(clock.now()).toUTCString() }, ...stated);
  }

  return {
    /** The headers of an answer that begins now: what it uses itself is not in them yet. */
    headers() {
      roll();
      return headers();
    },
    /** Counts what a request used. Returns its share of the five hours. */
    spend(model: string, usage: { input: number; cached: number; output: number }): number {
      roll();
      const each = weights[model] ?? { input: 0, cached: 0, output: 0 };
      const share = usage.input * each.input + usage.cached * each.cached + usage.output * each.output;
      this.spendElsewhere(share);
      return share;
    },
    /** Use of the plan that does not come through gw. */
    spendElsewhere(share: number): void {
      roll();
      for (const window of windows) window.used += share / window.size;
    },
    /** Real use of a window, without rounding. */
    used: (name: '5h' | '7d'): number => windows.find((window) => window.name === name)?.used ?? 0,
  };
}
