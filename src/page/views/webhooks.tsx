import { Action } from '../parts/action.tsx';
import { Choice } from '../parts/choice.tsx';
import { Empty, Facts, Loaded, Section } from '../parts/layout.tsx';
import { type Column, Table } from '../parts/table.tsx';
import type { Address } from '../state/address.ts';
import { type AnswerOf, ask } from '../state/ask.ts';
import { useGateway } from '../state/gateway.ts';
import { useReading } from '../state/use-reading.ts';

type Webhook = AnswerOf<'GET /v1/webhooks'>[number];
type Delivery = AnswerOf<'GET /v1/gw/deliveries'>[number];

const ALL = {};
const PAGE = 50;
const STATES = ['all', 'failed', 'pending', 'delivered'] as const;

export function Webhooks({ address }: { address: Address }) {
  const state = STATES.find((each) => each === address.parameters.status) ?? 'all';
  const webhooks = useReading('GET /v1/webhooks', ALL);
  const input = { limit: PAGE, ...(state === 'all' ? {} : { status: state }) };
  const deliveries = useReading('GET /v1/gw/deliveries', input, { isLive: true });
  return (
    <>
      <Section title="Endpoints">
        <Loaded known={webhooks}>{(all) => <Endpoints webhooks={all} />}</Loaded>
      </Section>
      <Section title="Deliveries" aside={<Choice name="status" choices={STATES} value={state} />}>
        <Loaded known={deliveries}>{(all) => <Deliveries deliveries={all} />}</Loaded>
      </Section>
    </>
  );
}

function Endpoints({ webhooks }: { webhooks: readonly Webhook[] }) {
  if (webhooks.length === 0)
    return (
      <Empty command="gw webhooks add URL">
        Nobody is told of alerts and refusals. To send them to a URL or a chat:
      </Empty>
    );
  const columns: Column<Webhook>[] = [
    { head: 'URL', cell: ({ url }) => url },
    { head: 'project', cell: ({ project_id }) => project_id, isExtra: true },
    { head: 'events', cell: ({ events }) => events.join(', '), isExtra: true },
    {
      head: 'status',
      cell: ({ status, status_reason: reason }) => (
        <span className={status === 'enabled' ? undefined : 'warn'}>
          {reason === null ? status : `${status}: ${reason}`}
        </span>
      ),
    },
    { head: 'test', isNumber: true, cell: (webhook) => <TestWebhook webhook={webhook} /> },
  ];
  return <Table caption="Webhooks" columns={columns} rows={webhooks} keyOf={({ id }) => id} />;
}

function TestWebhook({ webhook: { id, url } }: { webhook: Webhook }) {
  return (
    <Action
      name="Test"
      of={id}
      run={() => ask('POST /v1/webhooks/{id}/test', { id })}
      show={({ delivered, event_type, response_status: status, error }) => (
        <Facts
          facts={[
            ['delivered', delivered ? 'yes' : 'no'],
            ['event', event_type],
            ['answer', status === null ? (error ?? 'none') : `HTTP ${status}`],
          ]}
        />
      )}
    >
      <p>A sample event is sent to {url}.</p>
    </Action>
  );
}

const TONES: Partial<Record<Delivery['status'], string>> = { failed: 'bad', pending: 'warn' };

function Deliveries({ deliveries }: { deliveries: readonly Delivery[] }) {
  const { times } = useGateway();
  if (deliveries.length === 0)
    return <Empty command="gw webhooks test ID">Nothing was sent. To send a sample:</Empty>;
  const columns: Column<Delivery>[] = [
    { head: 'created', cell: ({ created_at }) => times.dateTime(Date.parse(created_at)) },
    { head: 'event', cell: ({ event_type, event_count: n }) => `${event_type}${n > 1 ? ` x${n}` : ''}` },
    { head: 'to', cell: ({ webhook_id }) => webhook_id, isExtra: true },
    { head: 'status', cell: ({ status }) => <span className={TONES[status]}>{status}</span> },
    {
      head: 'answer',
      cell: ({ response_status: status, error }) => (status === null ? (error ?? '-') : `HTTP ${status}`),
      isExtra: true,
    },
    { head: 'attempts', cell: ({ attempts }) => attempts, isNumber: true, isExtra: true },
    { head: 'again', isNumber: true, cell: (delivery) => <Replay delivery={delivery} /> },
  ];
  return <Table caption="Deliveries" columns={columns} rows={deliveries} keyOf={({ id }) => id} />;
}

/** Only what has ended can be sent again. */
function Replay({ delivery: { id, status, event_type: event } }: { delivery: Delivery }) {
  if (status !== 'failed' && status !== 'delivered') return null;
  return (
    <Action name="Replay" of={id} run={() => ask('POST /v1/deliveries/{id}/replay', { id })}>
      <p>{event} is sent again, with its first time and id.</p>
    </Action>
  );
}
