import type { LearnerState } from '../../routing/score/learner-state.ts';
import { scorePrompt, type TierScore } from '../../routing/score/score.ts';
import { type Context, note, say, sayJson } from '../context.ts';
import { plural } from '../output/numbers.ts';
import { terminalOf } from '../output/terminal.ts';
import { clean, pad } from '../output/text.ts';
import { readRequestFile } from '../request-file.ts';
import { labelsOf } from './learn.ts';
import { promptIn } from './prompt.ts';

interface ExplainOptions {
  project: string;
  learner: LearnerState | undefined;
  json?: boolean | undefined;
}

/** Says how much a request needs a strong model, and why. Sends nothing. */
export async function explain(context: Context, file: string, options: ExplainOptions): Promise<void> {
  const { project, learner, json } = options;
  const { messages, model } = await readRequestFile(context, file);
  const scored = scorePrompt(promptIn(messages, file), learner);
  if (json) {
    const { score, basis, gain, why } = scored;
    // No tiers can be configured yet, so none is chosen and the model stays.
    sayJson(context, {
      project_id: project,
      model: model ?? null,
      score,
      basis,
      gain: gain ?? null,
      why,
      tier: null,
    });
    return;
  }
  const { palette } = terminalOf(context.stdout, context.env);
  const facts: [string, string][] = [
    ['score', `${scored.score.toFixed(2)} of 1: how much the prompt needs a strong model`],
    ['why', scored.why.join(', ') || 'nothing stands out'],
    ['basis', basisText(scored, options)],
    ...gainFact(scored),
    ['tier', `none: the request keeps ${model === undefined ? 'its model' : model}`],
  ];
  say(context, facts.map(([name, value]) => `${palette.dim(pad(name, 7))}${clean(value)}`).join('\n'));
  note(context, 'No tiers are configured: the score is shown, and routes nothing.');
}

function gainFact({ gain }: TierScore): [string, string][] {
  if (gain === undefined) return [];
  const percents = Math.round(gain * 100);
  return [['gain', `${percents < 0 ? '' : '+'}${percents} % right answers are expected of the strong tier`]];
}

function basisText({ basis }: TierScore, { project, learner }: ExplainOptions): string {
  if (!learner)
    return `prior: the built-in rules; project ${project} has learnt nothing yet (gw route learn FILE)`;
  const labels = `${plural(labelsOf(learner), 'label')} of project ${project}`;
  return basis === 'learnt'
    ? `learnt: from ${labels}`
    : `prior: the built-in rules, which ${labels} have not proved worse yet`;
}
