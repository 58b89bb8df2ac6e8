import type { LearntDeployments } from '../../../pricing/deployments.ts';
import { routerFee } from '../../../pricing/router-fees.ts';
import type { Provider } from '../../registry.ts';

/** Learns the models behind Azure's deployments, where no setting maps them, from the first answer that names one. */
export type AzureDeployments = ReturnType<typeof createAzureDeployments>;

/** More than anyone has in an account. */
const MAX_LEARNT = 500;
/** How long the first answer stands. A deployment may be given another model, which later answers name. */
const LEAST_MS = 86_400_000;

interface Target {
  provider: Pick<Provider, 'name' | 'knownAs' | 'deployments'>;
  model: string;
}

interface AzureDeploymentsOptions {
  saved: LearntDeployments;
  now: () => number;
  /** Saves them, and makes prices and limits follow. */
  onChange: (learnt: LearntDeployments) => void;
}

export function createAzureDeployments({ saved, now, onChange }: AzureDeploymentsOptions) {
  const learnt = structuredClone(saved);
  return {
    /** `served`: the model of an answer that is billed at another price than the requested name. */
    learn({ provider: { name, knownAs, deployments }, model }: Target, served: string | undefined): void {
      if (served === undefined || knownAs !== 'azure' || deployments?.[model] !== undefined) return;
      // Azure's model router answers with whichever model it has chosen.
      if (routerFee(name, model)) return;
      const own = learnt[name] ?? {};
      const known = own[model];
      const isNew = known === undefined || (known.model !== served && now() - known.at >= LEAST_MS);
      if (!isNew || Object.keys(own).length >= MAX_LEARNT) return;
      learnt[name] = { ...own, [model]: { model: served, at: now() } };
      onChange(learnt);
    },
  };
}
