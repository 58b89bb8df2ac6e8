import { useEffect, useState } from 'preact/compat';
import type { LimitWindowView } from '../../operations/schemas/limits.ts';
import { paceText, windowText } from '../../terminal/limit-words.ts';
import { percent } from '../../terminal/numbers.ts';
import { Bar } from '../parts/gauge.tsx';
import { Loaded, Section } from '../parts/layout.tsx';
import { useGateway } from '../state/gateway.ts';
import { windowsOf } from '../state/questions.ts';
import { useReading } from '../state/use-reading.ts';

/** The windows of subscriptions, which are the owner's; nothing without one. */
export function Limits() {
  return useGateway().isAdmin ? <Windows /> : null;
}

function Windows() {
  const [isUsed, setIsUsed] = useState(false);
  // Read again only where there is something: live readings take turns.
  const known = useReading(...windowsOf(isUsed));
  const count = known.data?.length ?? 0;
  useEffect(() => setIsUsed(count > 0), [count]);
  return <Loaded known={known}>{(windows) => (count === 0 ? null : <List windows={windows} />)}</Loaded>;
}

function List({ windows }: { windows: readonly LimitWindowView[] }) {
  const { times, now } = useGateway();
  return (
    <Section title="Plan windows">
      <ul className="budgets">
        {windows.map((each) => (
          <li key={`${each.login} ${windowText(each)}`}>
            <span>
              {each.service} {windowText(each)}
            </span>
            <span className={toneOf(each)}>{paceText(each, times, now)}</span>
            <Bar text={`${percent(each.used)} used`} tone={toneOf(each)} spent={each.used} />
            <small>
              {percent(each.used)} used by login {each.login}
              {each.resets_at === null ? '' : `, resets ${times.moment(Date.parse(each.resets_at), now)}`}
            </small>
          </li>
        ))}
      </ul>
    </Section>
  );
}

function toneOf({ used, full_at }: LimitWindowView): string {
  if (used >= 1) return 'bad';
  return full_at === null ? '' : 'warn';
}
