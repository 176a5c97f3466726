import { afterAll, beforeAll } from '@jest/globals';
import { type SampleLake, type SampleLakeOptions, sampleLake } from './sample-lake.ts';

/** Shares one service among all tests of a file; each test begins with an empty lake and the initial records. */
export function sharedLakes(options: SampleLakeOptions): Pick<SampleLake, 'emptyLake'> {
  let sample: SampleLake | undefined;
  beforeAll(async () => {
    sample = await sampleLake(options);
  });
  afterAll(() => sample?.close());
  return {
    emptyLake() {
      if (!sample) throw new Error('the service has not been started');
      return sample.emptyLake();
    },
  };
}
