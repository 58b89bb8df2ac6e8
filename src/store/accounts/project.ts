export type Plan = 'free' | 'pro' | 'team';

export const PLANS: readonly Plan[] = ['free', 'pro', 'team'];

export interface Project {
  id: number;
  name: string;
  plan: Plan;
  createdAt: number;
  pausedAt: number | null;
}

export const DEFAULT_PROJECT = 'default';
