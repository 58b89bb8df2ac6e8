import { describe, expect, test } from 'vitest';
import type { LoggedCall } from '../../../src/agents/logs/logged-call.ts';
import { createMatcher } from '../../../src/insight/coverage/find-bypass.ts';
import type { CallView } from '../../../src/operations/schemas/calls.ts';
import { NO_USAGE } from '../../../src/usage.ts';

const NOW = Date.UTC(2026, 10, 22, 10);

interface Logged extends Partial<LoggedCall> {
  input?: number;
  output?: number;
}

function logged({ input = 20, output = 5, ...fields }: Logged = {}): LoggedCall {
  return {
    key: 'k',
    messageId: '',
    requestId: '',
    sessionId: 's1',
    agentVersion: '1',
    provider: '',
    model: 'm',
    at: NOW,
    usage: { ...NO_USAGE, inputTokens: input, outputTokens: output },
    cwd: '/home/me',
    ...fields,
  };
}

/** A request that ended `agoMs` before NOW. */
function recorded({ agoMs = 0, ...fields }: Partial<CallView> & { agoMs?: number } = {}): CallView {
  return {
    object: 'call',
    id: 'req_1',
    created_at: new Date(NOW - agoMs - 1_000).toISOString(),
    ended_at: new Date(NOW - agoMs).toISOString(),
    session_id: 's1',
    input_tokens: 20,
    output_tokens: 5,
    upstream_message_id: null,
    upstream_request_id: null,
    ...fields,
  };
}

const MINUTE = 60_000;
const missing = (calls: LoggedCall[], requests: CallView[]) => createMatcher(requests).missing(calls);

describe('a logged call came through gw', () => {
  test.each([
    ['the id of its answer', logged({ messageId: 'msg_1', input: 1 }), { upstream_message_id: 'msg_1' }],
    ['the id of its request', logged({ requestId: 'r1', input: 1 }), { upstream_request_id: 'r1' }],
    ['its usage in its session', logged({ messageId: 'chat-1' }), { agoMs: 4 * MINUTE }],
    ['its usage a moment ago in no session', logged(), { session_id: null }],
    ['its usage a moment ago in the session that it was copied from', logged(), { session_id: 's0' }],
    ['its session, where a request runs', logged({ input: 1 }), { ended_at: null }],
  ])('if the ledger has %s', (_, call, request) => {
    expect(missing([call], [recorded(request)])).toEqual([]);
  });
});

describe('a logged call went around gw', () => {
  test.each([
    ['another id and usage', { upstream_message_id: 'msg_2', output_tokens: 6 }],
    ['its usage too long ago', { agoMs: 6 * MINUTE }],
    ['its usage minutes ago in another session', { agoMs: 2 * MINUTE, session_id: 's2' }],
    ['a request that runs in another session', { ended_at: null, session_id: 's2', input_tokens: 0 }],
  ])('if the ledger has only %s', (_, request) => {
    const call = logged({ messageId: 'msg_1' });
    expect(missing([call], [recorded(request)])).toEqual([call]);
  });

  test('if the one request like it is another call', () => {
    const first = logged({ messageId: 'msg_1' });
    const second = logged({ messageId: 'msg_2' });
    expect(missing([first, second], [recorded({ upstream_message_id: 'msg_1' })])).toEqual([second]);
    expect(missing([logged({ key: 'a' }), logged({ key: 'b' })], [recorded()])).toHaveLength(1);
  });

  test('if a relay gives all answers one id, and fewer of them are in the ledger', () => {
    const calls = [1, 2, 3].map((input) => logged({ messageId: 'same', input }));
    const requests = [1, 2].map((input_tokens) => recorded({ upstream_message_id: 'same', input_tokens }));
    expect(missing(calls, requests)).toHaveLength(1);
  });
});
