export interface Log {
  info(message: string): void;
  warn(message: string): void;
}

/** Observes the results of exports. A signal is `traces` or `metrics`. */
export interface ExportWatch {
  succeeded(signal: string): void;
  failed(signal: string, error: Error | undefined): void;
}

/**
 * Logs when a signal stops reaching the collector, and when it recovers. Signals fail separately if the collector
 * accepts only one of them; an unreachable collector is logged once for both.
 */
export function createExportWatch(base: string, log: Log): ExportWatch {
  const reasons = new Map<string, string>();
  return {
    succeeded(signal) {
      if (!reasons.delete(signal)) return;
      const rest = [...reasons].map(([other, reason]) => `; ${other} still do not: ${reason}`);
      log.info(`${signal} reach ${base} again${rest.join('')}`);
    },
    failed(signal, error) {
      const reason = reasonOf(error);
      const isLogged = reasons.has(signal) || [...reasons.values()].includes(reason);
      reasons.set(signal, reason);
      if (isLogged) return;
      log.warn(
        `${signal} are not reaching ${base}: ${reason}. Requests are not affected. To stop sending: gw config unset metrics.otlp_endpoint`,
      );
    },
  };
}

/** The collector's HTTP status, or the error. A refused connection to `localhost` has a code and no message. */
function reasonOf(error: (Error & { code?: number | string }) | undefined): string {
  const { message = '', code = '' } = error ?? {};
  return (typeof code === 'number' ? `${code} ${message}`.trim() : message || code) || 'the export failed';
}
