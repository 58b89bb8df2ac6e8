import type { Json } from '../json/read.ts';
import type { JsonTemplate } from '../json/template.ts';
import type { Question } from '../prompt/question.ts';

export type Level = 'off' | 'safe' | 'balanced';

/** What a transform may know besides the text: nothing that comes after it. */
export interface Scope {
  level: Level;
  question: Question | undefined;
  /** A tool printed the text; otherwise a user pasted it. */
  fromTool: boolean;
  /** Whether the question names this JSON key (given with its quotes), so that its values stay whole. */
  keepKey: (key: string) => boolean;
  /** An earlier JSON value of the conversation that went out with the same keys. */
  templateOf: (value: Json) => JsonTemplate | undefined;
  /** To be called by a transform that leaves something out, so that no later message refers to it as whole. */
  leaveOut: () => void;
}

/** A rewriting of data; it returns the text itself where it has nothing to gain. */
export interface Transform {
  name: string;
  apply: (text: string, scope: Scope) => string;
}
