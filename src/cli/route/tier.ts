import { findProject } from '../../store/accounts/projects.ts';
import { recentTierScores } from '../../store/router/router-state.ts';
import { conversationKey } from '../../tiering/conversation-key.ts';
import { decideTier, observe, type ScoreWindow, type TierDecision } from '../../tiering/decide-tier.ts';
import type { Context } from '../context.ts';
import type { JsonObject } from '../input/jsonl.ts';
import { readSettings } from '../settings.ts';
import { withStore } from '../with-store.ts';

/** The tier that the daemon would choose for the first request of a conversation, as far as the file shows. */
export interface TierAnswer {
  decision: TierDecision;
  /** The tier's name and models. */
  name: string;
  models: string;
  /** The models of both tiers, by tier name. */
  modelsOf: Readonly<Record<string, string>>;
  share: number | undefined;
}

export interface TierQuestion {
  project: string;
  model: string | undefined;
  messages: readonly JsonObject[];
  score: number;
}

/** Chooses a tier as the daemon does. Undefined if the model has no tiers. */
export async function tierFor(
  context: Context,
  { project, model, messages, score }: TierQuestion,
): Promise<TierAnswer | undefined> {
  const { settings } = readSettings(context);
  const tiers = model === undefined ? undefined : settings.tiers[model];
  if (model === undefined || tiers === undefined) return undefined;
  const { strong, weak } = tiers;
  const { share } = settings['routing.shares'][project] ?? tiers;
  const { projectId, window } = await scoresOf(context, project, model);
  const turns = messages.map(({ role, content }) => ({ role: String(role), content }));
  const decision = decideTier({
    score,
    window,
    ...(share === undefined ? {} : { share }),
    conversation: `${projectId} ${model} ${conversationKey({ messages: turns })}`,
  });
  const chosen = decision.tier === 'strong' ? { name: 'strong', models: strong } : weak;
  return { decision, share, modelsOf: { strong, [weak.name]: weak.models }, ...chosen };
}

/** The recent scores that the daemon bases its threshold on. */
function scoresOf(
  context: Context,
  project: string,
  model: string,
): Promise<{ projectId: number; window: ScoreWindow }> {
  return withStore(context, async (db) => {
    const projectId = findProject(db, project);
    const window: ScoreWindow = [];
    for (const row of recentTierScores(db)) {
      if (row.projectId === projectId && row.model === model) observe(window, row.score);
    }
    return { projectId, window };
  });
}
