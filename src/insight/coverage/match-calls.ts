import type { LoggedCall } from '../../agents/logs/logged-call.ts';
import type { CallView } from '../../reading/call-schema.ts';

/** How far the clocks of the agent's machine and gw's may differ. */
export const TOLERANCE_MS = 5 * 60_000;
/** The same for a request of another session, or of none: a session's copy has an id of its own. */
const OTHER_SESSION_MS = 60_000;

/** Which calls in an agent's log the ledger has. */
export interface Matcher {
  /** The calls that the ledger lacks among these, which are not asked about again. */
  missing(calls: readonly LoggedCall[]): LoggedCall[];
}

/**
 * Finds calls by the provider's id of the answer, then of the request, then by session, usage and time: translated
 * answers have other ids, and older agents log none. A request accounts for one call.
 */
export function createMatcher(recorded: readonly CallView[]): Matcher {
  const unused = new Set(recorded);
  const byMessage = group(recorded, ({ upstream_message_id: id }) => id);
  const byRequest = group(recorded, ({ upstream_request_id: id }) => id);
  const byUsage = group(recorded, usageKey);
  const running = group(recorded, ({ session_id: id, ended_at }) => (ended_at === null ? id : null));

  const use = (requests: readonly CallView[] = []) => {
    // Some relays give all answers one id.
    const request = requests.length === 1 ? requests[0] : requests.find((each) => unused.has(each));
    if (request) unused.delete(request);
    return request !== undefined;
  };

  function matchesUsage(call: LoggedCall): boolean {
    const candidates = byUsage.get(usageKey(asCounted(call))) ?? [];
    const request = candidates.find((each) => unused.has(each) && isSameCall(call, each));
    return request !== undefined && unused.delete(request);
  }

  /** An agent may log an answer a moment before its record is written. */
  function isRunning({ sessionId, at }: LoggedCall): boolean {
    const request = running
      .get(sessionId)
      ?.find((each) => unused.has(each) && at >= Date.parse(each.created_at) - TOLERANCE_MS);
    return request !== undefined && unused.delete(request);
  }

  return {
    missing(calls) {
      const withoutId = calls.filter(
        (call) => !use(byMessage.get(call.messageId)) && !use(byRequest.get(call.requestId)),
      );
      return withoutId.filter((call) => !matchesUsage(call)).filter((call) => !isRunning(call));
    },
  };
}

function isSameCall({ sessionId, at }: LoggedCall, { session_id, created_at, ended_at }: CallView): boolean {
  const tolerance = session_id === sessionId ? TOLERANCE_MS : OTHER_SESSION_MS;
  const start = Date.parse(created_at);
  const end = ended_at === null ? start : Date.parse(ended_at);
  return at >= start - tolerance && at <= end + tolerance;
}

function usageKey({ input_tokens, output_tokens }: Pick<CallView, 'input_tokens' | 'output_tokens'>): string {
  return `${input_tokens} ${output_tokens}`;
}

const asCounted = ({ usage }: LoggedCall) => ({
  input_tokens: usage.inputTokens,
  output_tokens: usage.outputTokens,
});

function group(
  requests: readonly CallView[],
  keyOf: (request: CallView) => string | null,
): Map<string, CallView[]> {
  const groups = new Map<string, CallView[]>();
  for (const request of requests) {
    const key = keyOf(request);
    if (key === null) continue;
    const members = groups.get(key);
    if (members) members.push(request);
    else groups.set(key, [request]);
  }
  return groups;
}
