import { type ComponentType, useEffect, useMemo, useSyncExternalStore } from 'preact/compat';
import { Loaded } from './parts/layout.tsx';
import { SignIn } from './sign-in.tsx';
import { type Address, hrefOf } from './state/address.ts';
import { factsOfGateway, Gateway } from './state/gateway.ts';
import { WHOAMI } from './state/questions.ts';
import { onSession, sessionSecret, signOut } from './state/session.ts';
import { useAddress } from './state/use-address.ts';
import { useReading } from './state/use-reading.ts';
import { Budgets } from './views/budgets.tsx';
import { Cache } from './views/cache.tsx';
import { Keys } from './views/keys.tsx';
import { Requests } from './views/requests.tsx';
import { Sessions } from './views/sessions.tsx';
import { Spend } from './views/spend.tsx';
import { Team } from './views/team.tsx';
import { Today } from './views/today.tsx';
import { Webhooks } from './views/webhooks.tsx';

/** The views by their place in the address, in the order of the menu. */
const VIEWS: readonly (readonly [view: string, title: string, View: ComponentType<{ address: Address }>])[] =
  [
    ['', 'Today', Today],
    ['spend', 'Spend', Spend],
    ['sessions', 'Sessions', Sessions],
    ['requests', 'Requests', Requests],
    ['budgets', 'Budgets', Budgets],
    ['keys', 'Keys', Keys],
    ['webhooks', 'Webhooks', Webhooks],
    ['cache', 'Cache', Cache],
    ['team', 'Team', Team],
  ];

export function App() {
  const secret = useSyncExternalStore(onSession, sessionSecret);
  return secret === undefined ? <SignIn /> : <Views key={secret} />;
}

function Views() {
  const address = useAddress();
  const known = useReading(...WHOAMI);
  const facts = useMemo(() => known.data && factsOfGateway(known.data), [known.data]);
  const [view, title, View] = VIEWS.find(([each]) => each === address.view) ?? ['', 'Today', Today];
  useEffect(() => {
    document.title = `${title} - gw`;
  }, [title]);
  return (
    <>
      <button type="button" className="skip" onClick={() => document.getElementById('main')?.focus()}>
        Skip to content
      </button>
      <nav aria-label="Views">
        <a className="brand" href={hrefOf('')}>
          gw
        </a>
        <ul>
          {VIEWS.map(([each, name]) => (
            <li key={each}>
              <a href={hrefOf(each)} aria-current={each === view ? 'page' : undefined}>
                {name}
              </a>
            </li>
          ))}
        </ul>
        <button type="button" onClick={() => void signOut()}>
          Sign out
        </button>
      </nav>
      <main id="main" tabIndex={-1}>
        <Loaded known={{ ...known, data: facts }}>
          {(gateway) => (
            <Gateway value={gateway}>
              <h1>{title}</h1>
              <View key={view} address={address} />
              <footer>
                gw {gateway.whoami.version},{' '}
                {gateway.whoami.key.admin ? 'all projects' : `project ${gateway.whoami.key.project_id}`},
                times in {gateway.whoami.timezone}
              </footer>
            </Gateway>
          )}
        </Loaded>
      </main>
    </>
  );
}
