import { plural } from '../../terminal/numbers.ts';
import { AS_JSON, ONLY_PROJECT, type SetUp } from '../command.ts';
import { note, sayJson } from '../context.ts';
import { withGateway } from '../with-gateway.ts';

export const replay: SetUp = (command, context) => {
  command
    .command('clear')
    .description('delete the answers that are kept for replays')
    .option(...ONLY_PROJECT)
    .option(...AS_JSON)
    .action(async ({ project, json }) => {
      const cleared = await withGateway(context, (reader) => reader.clearReplays({ project_id: project }));
      if (json) return sayJson(context, cleared);
      note(
        context,
        cleared.answers === 0
          ? 'No answers are kept. To keep them: gw config set replay.ttl 24h'
          : `Deleted ${plural(cleared.answers, 'answer')}: the next request of each is paid again.`,
      );
    });
};
