import { onTestFinished } from 'vitest';
import { commandLineOf } from '../cli/cli-home.ts';
import { CLAUDE, startBothWires } from '../wire/support/anthropic-gateway.ts';
import { events } from '../wire/support/event-scripts.ts';
import { messageBody, text } from '../wire/support/messages-shapes.ts';
import { completedEvents } from '../wire/support/responses-shapes.ts';
import { type RequestParts, request } from './client.ts';
import type { GatewayOptions } from './gateway.ts';
import { createPlanService } from './plan-service.ts';
import { json } from './scripts.ts';
import { subscriptionsAt } from './subscriptions.ts';
import { startUpstream } from './upstream.ts';
import { createVirtualClock } from './virtual-clock.ts';

export const CANARY = 'canaryL4zB9';
const ACCOUNT = `0b5e0a34-${CANARY}`;
export const TOKEN = `Bearer sk-ant-oat01-${CANARY}`;
const JWT = `Bearer eyJhbGciOiJSUzI1NiJ9.eyJ${CANARY}.c2lnbmF0dXJl`;

interface AskParts extends Pick<RequestParts, 'headers'> {
  token?: string;
}

/** A gateway whose logins' services are scripted: plans with hidden weights, on a clock that the test moves. */
export async function startWithPlans(options: GatewayOptions = {}) {
  const upstream = await startUpstream();
  onTestFinished(() => upstream.close());
  const clock = createVirtualClock();
  const gateway = await startBothWires({
    upstream,
    clock,
    subscriptions: subscriptionsAt(upstream),
    ...options,
    settings: { 'passthrough.subscriptions': 'allow', attribution: 'off', ...options.settings },
  });
  const weights = {
    [CLAUDE]: { input: 0, cached: 0, output: 0.01 },
    'gpt-5.2': { input: 0, cached: 0, output: 0.02 },
  };
  const claude = createPlanService({ clock, kind: 'claude', weights });
  const chatgpt = createPlanService({ clock, kind: 'chatgpt', weights });
  const userId = JSON.stringify({ device_id: 'd', account_uuid: ACCOUNT, session_id: 's' });
  return {
    gateway,
    clock,
    claude,
    chatgpt,
    cli: commandLineOf(gateway, 'locally', clock),
    async asClaude(
      headers: Record<string, string> = claude.headers(),
      { token = TOKEN, ...parts }: AskParts = {},
    ) {
      gateway.upstream.script(json(200, messageBody([text('Hello')]), headers));
      const body = { model: CLAUDE, max_tokens: 100, messages: [{ role: 'user', content: 'Hi' }] };
      const answer = await request(gateway.origin, {
        path: '/v1/messages?beta=true',
        headers: {
          authorization: token,
          'x-gw-key': gateway.key,
          'user-agent': 'claude-cli/2.1.329 (external, cli)',
          ...parts.headers,
        },
        body: { ...body, metadata: { user_id: userId } },
      });
      await gateway.committed();
      return answer;
    },
    async asCodex(headers: Record<string, string> = chatgpt.headers(), parts: AskParts = {}) {
      gateway.upstream.script(events(completedEvents(['Hello']), { headers }));
      const answer = await request(gateway.origin, {
        path: '/v1/responses',
        headers: {
          authorization: JWT,
          'x-gw-key': gateway.key,
          'chatgpt-account-id': ACCOUNT,
          ...parts.headers,
        },
        body: { model: 'gpt-5.2', input: 'Hi', stream: true, store: false },
      });
      await gateway.committed();
      return answer;
    },
  };
}
