import type { OptimizerWork, Saving } from '../../compression/compress-request.ts';
import type { RecentTexts } from '../../json/recent-texts.ts';
import { labelsText } from '../../labels.ts';
import type { Origin } from '../../origin.ts';
import type { Caller } from '../../store/accounts/callers.ts';
import type { Trial } from '../../store/ledger/record.ts';
import type { SessionKey } from '../../store/runaways/runaways.ts';
import type { TierDecision } from '../../tiering/decide-tier.ts';
import type { TierScore } from '../../tiering/score.ts';
import type { Translator } from '../../translation/translate.ts';
import type { PromptBlocks } from '../../wire/request/prompt-block.ts';
import type { ServiceOptions } from '../../wire/request/service-options.ts';
import type { WireRequest } from '../../wire/request/wire-request.ts';
import type { AnswerWire, PassThroughWire, Wire } from '../../wire/wire.ts';
import type { RoutedTarget } from '../state/resolver.ts';
import type { Exchange } from './exchange.ts';

/** A request on its way through the stages. */
export interface RequestContext<W extends AnswerWire = Wire> {
  exchange: Exchange;
  caller: Caller;
  project: ProjectRef;
  origin: Origin;
  session: ClientSession;
  wire: W;
  request: WireRequest;
  options: ServiceOptions;
  /** Undefined for requests that are not split. */
  recentPrompts?: RecentTexts<PromptBlocks> | undefined;
  /** Undefined when routing doesn't need it. */
  conversation?: Conversation | undefined;
  /** Undefined when no tiers are configured for the model. */
  tier?: TierChoice;
  /** Undefined unless a budget has sent the request to a cheaper model. */
  fallback?: Fallback;
  /** Estimate of the tokens that the optimizer saved. */
  savedTokens: number;
  /** The body before the optimizer changed it; undefined where it didn't, or bodies are not kept. */
  clientBody?: Buffer;
  /** The optimizer's work; undefined if it left the request alone. */
  optimized?: Optimized;
  /** Translates the provider's answer; undefined when the provider speaks the client's API. */
  translator?: Translator;
  /** Its provider has refused it as a response. */
  lacksResponses?: boolean;
  /** What its provider has refused in its first form. */
  retriedWithout?: readonly string[];
  /** The fields of the client's request that its translation lacks, such as `messages[].name`. */
  leftOut?: readonly string[];
}

/** A request to any endpoint: one that gw reads, or one that it passes through. */
export type AnyRequestContext = RequestContext<Wire | PassThroughWire>;

interface Optimized {
  /** Flags of the request record. */
  flags: number;
  savings: readonly Saving[];
  /** Undefined for a prompt that was sent as it came, or that is too short to be changed. */
  work?: OptimizerWork | undefined;
  trial?: Trial | undefined;
}

/**
 * The admission queue of a request: its project's, or that of its key, repository, agent, session, target and labels if these have
 * budgets of their own, so that a full one holds up no other.
 */
export function queueKeyOf(
  { caller, project, origin, session, options }: AnyRequestContext,
  { repos, clients }: BudgetScopes,
  target: Pick<RoutedTarget, 'model'> & { provider: { name: string } },
): number | string {
  const key = caller.hasBudget ? caller.keyId : '';
  const repo = repos.has(project.id) ? origin.repo : '';
  const client = clients.has(project.id)
    ? `${session.agent} ${session.sessionId} ${target.provider.name} ${target.model} ${options.labels ? labelsText(options.labels) : ''}`
    : '';
  return key === '' && repo === '' && client === '' ? project.id : `${project.id} ${key} ${client} ${repo}`;
}

/** Why a request goes to a cheaper model than it asked for. */
export interface Fallback {
  /** The target that it would have gone to. */
  from: string;
  /** The budget that is at its limit. */
  budget: { id: number; name: string };
}

/** The conversation that a request belongs to. */
export interface Conversation {
  /** The same for all turns of the conversation; includes the project and the model. */
  key: string;
  /** The request is the first turn, so any target may take it. */
  isNew: boolean;
}

/** Which agent sends a request, and in which of its sessions. A field is empty where that is unknown. */
export interface ClientSession {
  /** The agent's own id of the session: at most 128 printable characters of ASCII. */
  sessionId: string;
  /** The agent's name as in `gw connect`. */
  agent: string;
  agentVersion: string;
}

/** The session as the ledger knows it. */
export const sessionKeyOf = ({ project, session }: AnyRequestContext): SessionKey => ({
  projectId: project.id,
  agent: session.agent,
  session: session.sessionId,
});

/** The tier that was chosen for a request, and why. */
export interface TierChoice {
  decision: TierDecision;
  scored: TierScore;
  /** Name of the chosen tier. */
  name: string;
  /** Capabilities that the request needs and the weak tier lacks. */
  lacks: readonly string[];
  /** First target of the strong tier. */
  strong: RoutedTarget;
}

/** The project that a request is counted against. */
export interface ProjectRef {
  id: number;
  name: string;
  paused: boolean;
}

export const PROJECT_PAUSED = { status: 403, type: 'permission_error', code: 'project_paused' } as const;

export function pausedMessage({ name }: Pick<ProjectRef, 'name'>): string {
  return `project ${name} is paused. To resume it: gw projects resume ${name}`;
}

/** Finds an existing project by name. */
export type FindProject = (name: string) => ProjectRef | undefined;

/** Whether a project has a budget of a period; `repo` is empty for the project's own budgets. */
export type HasBudget = (projectId: number, period: string, repo: string) => boolean;

/** The projects with budgets of repositories, of sessions, agents, labels, models or providers, and with cheaper models. */
export interface BudgetScopes {
  repos: ReadonlySet<number>;
  clients: ReadonlySet<number>;
  fallbacks: ReadonlySet<number>;
}

/** Lookups for the projects and budgets that a request names. */
export interface Accounts {
  findProject: FindProject;
  hasBudget: HasBudget;
}
