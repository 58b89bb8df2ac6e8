import type { Clock } from '../clock.ts';
import { newId, type Random } from '../ids.ts';
import type { Endpoint } from '../store/webhooks/endpoints.ts';
import type { EventType } from '../store/webhooks/event-types.ts';
import type { Outgoing } from './request.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;

/** A sample event to test an endpoint, of a type that it subscribes to. `data.test` marks it as a test. */
export function sampleOutgoing(endpoint: Endpoint, clock: Clock, random: Random): Outgoing {
  const [type = 'budget.threshold_reached'] = endpoint.events;
  const { url, format, secret, oldSecret, oldSecretUntil, project } = endpoint;
  const eventAt = clock.now();
  const data = JSON.stringify({ test: true, ...sampleData(type, project, eventAt) });
  const eventId = newId('evt', random);
  return { url, format, secret, oldSecret, oldSecretUntil, project, eventId, type, eventAt, data };
}

function sampleData(type: EventType, project: string, now: number): Record<string, unknown> {
  const budget = { budget_id: `${project}/daily`, period: 'daily', cap_usd: 1 };
  const resets = { resets_at: new Date(now + 8 * HOUR_MS).toISOString() };
  switch (type) {
    case 'budget.threshold_reached':
      return { ...budget, spent_usd: 0.8, held_usd: 0, alert_percent: 80, ...resets };
    case 'budget.exceeded':
      return { ...budget, spent_usd: 1, held_usd: 0, alert_percent: 80, ...resets };
    case 'budget.reset':
      return { ...budget, period_start: new Date(now).toISOString(), skipped: 0, spent_usd: 1, ...resets };
    case 'request.blocked':
      return {
        ...budget,
        request_id: 'req_00000000000',
        model: 'gpt-4.1-mini',
        estimated_cost_usd: 0.01,
        remaining_usd: 0,
        spent_usd: 1,
      };
    case 'request.approval_requested':
      return {
        ...budget,
        ask_id: 'ask_00000000000',
        request_id: 'req_00000000000',
        model: 'gpt-4.1-mini',
        needed_usd: 0.01,
        remaining_usd: 0,
        spent_usd: 1,
        expires_at: new Date(now + MINUTE_MS).toISOString(),
      };
  }
}
