import { type Dispatch, useEffect } from 'react';
import { createCalendar } from '../calendar.ts';
import type { Clock } from '../clock.ts';
import { messageOf } from '../errors.ts';
import type { Source } from './source.ts';
import type { Action, State } from './state/state.ts';
import { repeat } from './use-polling.ts';

/** What this gateway has heard of its team is here already. */
const TEAM_POLL_MS = 5_000;
/** The team's database is asked while its figures are shown, and no oftener. */
const USAGE_POLL_MS = 30_000;

/** Follows the team, if there is one, and today's usage of its gateways while the view is open. */
export function useTeam(
  { team: { team, isOpen }, paused }: State,
  dispatch: Dispatch<Action>,
  source: Source,
  clock: Clock,
): void {
  useEffect(() => {
    if (paused) return;
    // A gw of an older version has no team.
    return repeat(
      clock,
      TEAM_POLL_MS,
      () =>
        void source.team().then(
          (found) => dispatch({ type: 'team', team: found }),
          () => {},
        ),
    );
  }, [paused, dispatch, source, clock]);

  const timezone = team?.timezone ?? null;
  useEffect(() => {
    if (!isOpen || paused || timezone === null) return;
    let isCurrent = true;
    let isPending = false;
    const show = (action: Action) => {
      if (isCurrent) dispatch(action);
    };
    const read = async () => {
      const today = createCalendar(timezone).dateOf(clock.now());
      const days = { from: today, to: today };
      const gateways = await source.teamUsage({ ...days, groupBy: 'gateway' });
      const models = await source.teamUsage({ ...days, groupBy: 'model' });
      show({ type: 'teamUsage', gateways, models, at: clock.now() });
    };
    const stop = repeat(clock, USAGE_POLL_MS, () => {
      if (isPending) return;
      isPending = true;
      void read()
        .catch((error) => show({ type: 'teamFailure', message: messageOf(error), at: clock.now() }))
        .then(() => {
          isPending = false;
        });
    });
    return () => {
      isCurrent = false;
      stop();
    };
  }, [isOpen, paused, timezone, dispatch, source, clock]);
}
