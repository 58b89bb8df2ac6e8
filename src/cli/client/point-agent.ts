import type { FoundAgent } from '../../agents/find.ts';
import type { Pointing } from '../../agents/run/start.ts';
import { type Context, homeOf, note } from '../context.ts';
import { CliError } from '../exit.ts';
import { ownApisReached } from './own-apis.ts';
import { realFiles } from './run-folder.ts';

interface Access {
  origin: string;
  key: string;
  subscription: boolean;
  /** The run's folder; it need not exist yet. */
  folder: string;
}

/** How the agent in a command line is started for a run through gw. */
export function pointAgent(
  context: Context,
  { words, found }: { words: readonly string[]; found: FoundAgent },
  access: Access,
): Pointing {
  return found.agent.pointRun({
    ...access,
    ownApis: ownApisReached(context, access),
    args: words.slice(found.words),
    env: context.env,
    cwd: process.cwd(),
    home: homeOf(context),
    platform: process.platform,
    files: realFiles,
  });
}

/** Refuses a run that is known to go around gw; with `anyway`, warns. */
export function refuseBypass(
  context: Context,
  { agent }: FoundAgent,
  { pointing, anyway }: { pointing: Pointing; anyway: boolean },
): void {
  const { bypass } = pointing;
  if (!bypass) return;
  const what = `${agent.title} would go around gw: ${bypass.reason}.`;
  if (anyway) {
    note(context, `warning: ${what} Its requests may be neither counted nor capped`);
    return;
  }
  throw new CliError(
    `${what}\n  ${bypass.remedy}\n  To run it all the same, uncounted: gw run --anyway -- ...`,
  );
}
