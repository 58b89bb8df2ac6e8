/** When the paid session of each tool container ends. */
export type ContainerSessions = ReturnType<typeof createContainerSessions>;

/** https://developers.openai.com/api/docs/pricing and https://platform.claude.com/docs/en/about-claude/pricing */
const LEAST_MINUTES = 5;
const MINUTE_MS = 60_000;
/** A container that nobody has used for so long is gone: https://developers.openai.com/api/docs/guides/tools-code-interpreter */
const EXPIRY_MS = 20 * MINUTE_MS;
/** Bounds the memory: ids come from providers. */
const MAX_REMEMBERED = 10_000;

/** Remembers containers in memory: after a restart, a container counts as new. */
export function createContainerSessions(now: () => number) {
  const paidUntilMs = new Map<string, number>();
  return {
    /** The minutes to bill for a container that was used now: five at least when it is new or has no id, then those since. */
    minutesOf(id: string): number {
      if (id === '') return LEAST_MINUTES;
      const nowMs = now();
      const untilMs = paidUntilMs.get(id);
      const isNew = untilMs === undefined || nowMs > untilMs + EXPIRY_MS;
      const minutes = isNew ? LEAST_MINUTES : Math.max(0, Math.ceil((nowMs - untilMs) / MINUTE_MS));
      if (minutes === 0) return 0;
      if (paidUntilMs.size >= MAX_REMEMBERED) paidUntilMs.clear();
      paidUntilMs.set(id, (isNew ? nowMs : untilMs) + minutes * MINUTE_MS);
      return minutes;
    },
  };
}
