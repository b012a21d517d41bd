-- Free pages: neighbours become one extent, in whatever order they come.
SET client_min_messages = warning;
\getenv seed RENCODER_SEED
SELECT setseed(mod(:seed, 1000003) / 1000003.0);

CREATE TABLE space (v int8, filler text);
ALTER TABLE space ALTER filler SET STORAGE plain;
CREATE INDEX space_v ON space USING rencoder (v) WITH (pages_per_range = 1, storage = filter,
	autosummarize = off);
-- Seven rows a page, one group of 128 block ranges and a bit.
INSERT INTO space SELECT hashint8extended(i, :seed), repeat('x', 1000)
FROM generate_series(1, 7 * 130) i;

-- The group's 16 slices are made in the order in which their first ranges are
-- summarized, one after the other in the file, and freed in their own order.
CREATE FUNCTION space_summarize() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	b int;
BEGIN
	FOR b IN SELECT i FROM generate_series(0, 127) i ORDER BY random() LOOP
		PERFORM rencoder_summarize_range('space_v', b);
	END LOOP;
END $$;
SELECT space_summarize();
SELECT sealed, summarized, storage FROM rencoder_groups('space_v') WHERE group_no = 0;
SELECT free_extents, free_pages FROM rencoder_metapage('space_v');
SELECT rencoder_index_check('space_v', true);

DROP TABLE space;
DROP FUNCTION space_summarize;
