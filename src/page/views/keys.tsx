import type { KeyView } from '../../operations/schemas/keys.ts';
import { usdText } from '../../terminal/numbers.ts';
import { parseDuration } from '../../terminal/time.ts';
import { Action, Field } from '../parts/action.tsx';
import { Command, Empty, Loaded, Section } from '../parts/layout.tsx';
import { type Column, changes, Table } from '../parts/table.tsx';
import type { Address } from '../state/address.ts';
import { ask } from '../state/ask.ts';
import { useGateway } from '../state/gateway.ts';
import { useReading } from '../state/use-reading.ts';

const LIVE = {};
const RIGHTS = [
  ['project', 'its project'],
  ['admin', 'all projects (admin)'],
] as const;

export function Keys(_: { address: Address }) {
  const { isAdmin, times, now } = useGateway();
  const known = useReading('GET /v1/gw/keys', LIVE as { revoked: boolean });
  const momentOf = (time: string | null, none: string) =>
    time === null ? none : times.moment(Date.parse(time), now);
  const columns: Column<KeyView>[] = [
    { head: 'key', cell: ({ label, id, hint }) => `${label ?? `key ${id}`} ...${hint}` },
    { head: 'project', cell: ({ project_id }) => project_id },
    { head: 'rights', cell: ({ admin }) => (admin ? 'admin' : 'project') },
    { head: 'last used', cell: ({ last_used_at }) => momentOf(last_used_at, 'never'), isExtra: true },
    { head: 'expires', cell: ({ expires_at }) => momentOf(expires_at, 'never'), isExtra: true },
    { head: 'models', cell: ({ models }) => models?.join(', ') ?? 'all', isExtra: true },
    { head: 'spent', cell: ({ spent_usd }) => usdText(spent_usd), isNumber: true },
    ...changes(isAdmin, (key: KeyView) => (key.team ? 'by the team' : <Changes of={key} />)),
  ];
  return (
    <Section title="Keys" aside={isAdmin ? <NewKey /> : null}>
      <Loaded known={known}>
        {(keys) =>
          keys.length === 0 ? (
            <Empty command="gw keys create">No key yet.</Empty>
          ) : (
            <Table caption="Keys" columns={columns} rows={keys} keyOf={({ id }) => String(id)} />
          )
        }
      </Loaded>
    </Section>
  );
}

/** A new key, which nobody can read again. */
function Shown({ value }: { value: string }) {
  return (
    <>
      <p>Copy the key now: it is not shown again.</p>
      <Command text={value} />
    </>
  );
}

function NewKey() {
  const projects = useReading('GET /v1/gw/projects', undefined);
  const { now } = useGateway();
  return (
    <Action
      name="Create"
      of="a key"
      run={async ({ project, label = '', rights, time = '' }) => {
        const ms = time === '' ? undefined : parseDuration(time);
        if (time !== '' && ms === undefined) throw new Error(`"${time}" is no duration: use one such as 30d`);
        return ask('POST /v1/gw/keys', {
          project_id: project,
          label: label || null,
          admin: rights === 'admin',
          expires_at: ms === undefined ? null : new Date(now + ms).toISOString(),
          models: null,
          rpm: null,
        });
      }}
      show={({ key }) => <Shown value={key} />}
    >
      <Field
        name="project"
        label="Project"
        choices={(projects.data ?? []).map(({ project_id: id }) => [id, id] as const)}
      />
      <Field name="label" label="Label" hint="Who or what has it." />
      <Field name="rights" label="Sees and changes" choices={RIGHTS} />
      <Field name="time" label="Expires in" hint="Such as 30d. Empty: never." />
    </Action>
  );
}

function Changes({ of: { id, label } }: { of: KeyView }) {
  const name = label ?? `key ${id}`;
  // The path has the id as text.
  const path = { id: String(id) } as never;
  return (
    <span className="buttons">
      <Action
        name="Rotate"
        of={name}
        run={() => ask('POST /v1/gw/keys/{id}/rotate', path)}
        show={({ key }) => <Shown value={key} />}
      >
        <p>A new key takes its place, with the same limits and budgets. The old one works for another day.</p>
      </Action>
      <Action name="Revoke" of={name} isDangerous run={() => ask('DELETE /v1/gw/keys/{id}', path)}>
        <p>From the next request on, the key is refused. What it has spent stays on record.</p>
      </Action>
    </span>
  );
}
