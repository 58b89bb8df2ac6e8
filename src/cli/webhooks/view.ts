import { DEFAULT_EVENTS, EVENT_TYPES } from '../../store/webhooks/event-types.ts';
import { type Column, table } from '../../terminal/table.ts';
import type { Terminal } from '../../terminal/terminal.ts';
import { clean } from '../../terminal/text.ts';
import { createTimeFormat, duration, type TimeFormat, timeColumn } from '../../terminal/time.ts';
import type { TestView } from '../../webhooks/service.ts';
import type { DeliveryView, EndpointView } from '../../webhooks/views.ts';
import type { TableLook } from '../requests/view.ts';

/** A table of webhooks, and below it why some of them get no events. */
export function endpointTable(endpoints: EndpointView[], terminal: Terminal): string {
  const { palette } = terminal;
  const columns: Column<EndpointView>[] = [
    {
      header: ' ',
      value: ({ status }) => (status === 'enabled' ? ' ' : '!'),
      style: (text) => palette.warn(text),
    },
    { header: 'id', value: ({ id }) => id },
    { header: 'project', value: ({ project_id }) => project_id, shrinks: true },
    { header: 'format', value: ({ format }) => format },
    { header: 'status', value: ({ status }) => status },
    { header: 'events', value: eventsText, shrinks: true },
    { header: 'url', value: ({ url }) => url, shrinks: true },
  ];
  const idle = endpoints
    .filter(({ status }) => status !== 'enabled')
    .map((endpoint) =>
      clean(`  ${endpoint.id} is ${endpoint.status}: ${endpoint.status_reason}${remedyOf(endpoint)}`),
    );
  return [
    palette.bold('Webhooks'),
    '',
    ...table(endpoints, columns, { terminal }),
    ...(idle.length > 0 ? ['', ...idle.map(palette.dim)] : []),
  ].join('\n');
}

/** The events of a webhook: `all` that it gets if it names none, or their names. */
export function eventsText({ events }: EndpointView): string {
  if (events.length === EVENT_TYPES.length) return 'all and approvals';
  return events.join() === DEFAULT_EVENTS.join() ? 'all' : events.join(',');
}

/** Only for disabled webhooks: the reason of a paused one already names a command. */
function remedyOf({ id, status }: EndpointView): string {
  return status === 'disabled' ? `. To enable it: gw webhooks enable ${id}` : '';
}

/** A table of deliveries, newest first. */
export function deliveryTable(deliveries: DeliveryView[], { timezone, now, terminal }: TableLook): string {
  const { palette } = terminal;
  const times = createTimeFormat(timezone);
  const manyWebhooks = new Set(deliveries.map(({ webhook_id }) => webhook_id)).size > 1;
  const timeText = timeColumn(
    deliveries.map(({ created_at }) => Date.parse(created_at)),
    times,
    now,
  );
  const columns: Column<DeliveryView>[] = [
    {
      header: ' ',
      value: ({ status }) => (status === 'failed' ? '!' : ' '),
      style: (text) => palette.warn(text),
    },
    { header: 'id', value: ({ id }) => id },
    { header: 'time', value: ({ created_at }) => timeText(Date.parse(created_at)) },
    ...(manyWebhooks ? [{ header: 'to', value: ({ webhook_id }: DeliveryView) => webhook_id }] : []),
    { header: 'event', value: eventText, shrinks: true },
    { header: 'status', value: ({ status }) => status },
    { header: 'tries', value: ({ attempts }) => String(attempts), align: 'right' },
    { header: 'response', value: (delivery) => answerText(delivery, times), shrinks: true },
  ];
  const lines = table(deliveries, columns, { terminal });
  return [palette.bold(`Deliveries (${timezone})`), '', ...lines].join('\n');
}

function eventText({ event_type, event_count }: DeliveryView): string {
  return event_count === 1 ? event_type : `${event_type} x${event_count}`;
}

function answerText(delivery: DeliveryView, times: TimeFormat): string {
  const { error, response_status, next_attempt_at, replayed_at } = delivery;
  const answer = error ?? (response_status === null ? '' : `HTTP ${response_status}`);
  const next = next_attempt_at === null ? '' : `next at ${times.time(Date.parse(next_attempt_at))}`;
  return [answer, next, replayed_at === null ? '' : 'replayed'].filter(Boolean).join(', ');
}

/** The result of a test in one line, and the response body below it. */
export function testText(test: TestView, id: string, { palette }: Terminal): string {
  const answer = test.error ?? `HTTP ${test.response_status}`;
  const head = `${test.event_type} to ${id}: ${answer}, after ${duration(test.duration_ms)}`;
  return clean(head) + (test.response_body ? `\n${palette.dim(clean(test.response_body))}` : '');
}
