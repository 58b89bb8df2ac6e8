import { formatUsd } from '../../money.ts';
import type { AskView } from '../../operations/schemas/asks.ts';
import type { DashboardView } from '../../operations/schemas/dashboard.ts';
import { secondsLeft } from '../../terminal/time.ts';
import { Action, Field } from '../parts/action.tsx';
import { Section } from '../parts/layout.tsx';
import { ask } from '../state/ask.ts';
import { useGateway } from '../state/gateway.ts';

/** The requests that wait for an answer; nothing without one. */
export function Asks({ asks }: { asks: readonly AskView[] }) {
  const { now, isAdmin } = useGateway();
  if (asks.length === 0) return null;
  return (
    <Section title="Waiting for your answer">
      <ul className="asks">
        {asks.map((each) => (
          <li key={each.id}>
            <span>
              <b>{each.budget_id}</b> {questionOf(each)}, at most {formatUsd(each.needed_nano_usd)}. Refused
              in {secondsLeft(each.expires_at, now)}.
            </span>
            {isAdmin ? <Answers waiting={each} /> : null}
          </li>
        ))}
      </ul>
    </Section>
  );
}

const questionOf = ({ runaway, session, agent, model }: AskView) =>
  runaway === null
    ? `has no room for ${agent ?? 'a request'} with ${model}`
    : `asks about session ${session} of ${agent ?? 'an agent'} with ${model}: ${runaway}`;

function Answers({ waiting: { id, budget_id } }: { waiting: AskView }) {
  return (
    <span className="buttons">
      <Action
        name="Approve"
        of={id}
        run={({ raise = '' }) =>
          ask('POST /v1/gw/asks/{id}/approve', {
            id,
            ...(raise === '' ? {} : { raise_usd: Number(raise) }),
          })
        }
      >
        <p>The request goes on once. With an amount, the cap of {budget_id} is raised by it too.</p>
        <Field name="raise" label="Raise the cap by ($)" hint="Empty: this request alone." />
      </Action>
      <Action name="Deny" of={id} isDangerous run={() => ask('POST /v1/gw/asks/{id}/deny', { id })}>
        <p>The request is refused with 402.</p>
      </Action>
    </span>
  );
}

/** The sessions that are taken for runaways; nothing without one. */
export function Runaways({ runaways }: Pick<DashboardView, 'runaways'>) {
  const { isAdmin } = useGateway();
  if (runaways.length === 0) return null;
  return (
    <Section title="Sessions that run away">
      <ul className="asks">
        {runaways.map(({ session, agent, project_id, message }) => (
          <li key={`${project_id} ${agent} ${session}`}>
            <span>
              <b>{session}</b> of {agent ?? 'an agent'} in {project_id}: {message}.
            </span>
            {isAdmin ? (
              <Action
                name="Let it go on"
                of={session}
                run={() => ask('POST /v1/gw/sessions/{id}/resume', { id: session, project_id })}
              >
                <p>It may do the same twice as often before it is taken for a runaway again.</p>
              </Action>
            ) : null}
          </li>
        ))}
      </ul>
    </Section>
  );
}
