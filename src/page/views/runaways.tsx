import type { DashboardView } from '../../operations/schemas/dashboard.ts';
import { Action } from '../parts/action.tsx';
import { Section } from '../parts/layout.tsx';
import { ask } from '../state/ask.ts';
import { useGateway } from '../state/gateway.ts';

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
                run={async () => {
                  await ask('POST /v1/gw/sessions/{id}/resume', { id: session, project_id });
                  return undefined;
                }}
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
