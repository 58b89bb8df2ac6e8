import type { Question } from '../prompt/question.ts';

export type Level = 'off' | 'safe' | 'balanced';

/** A transform's input besides the text. Includes nothing that comes after the text in the conversation. */
export interface Scope {
  level: Level;
  question: Question | undefined;
  /** Whether a tool printed the text; otherwise a user pasted it. */
  fromTool: boolean;
  /** Whether the question names this JSON key (passed with its quotes), so that its values stay whole. */
  keepKey: (key: string) => boolean;
  /** Called by a transform that drops something, so that no later message refers to the text as complete. */
  leaveOut: () => void;
}

/** A rewriting of data. `apply` returns the same text if there is nothing to gain. */
export interface Transform {
  name: string;
  apply: (text: string, scope: Scope) => string;
}
