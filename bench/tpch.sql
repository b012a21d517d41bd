-- Data and queries of bench/tpch.sh: after the specification of TPC-H, with texts of its own.
-- psql's variables: scale, seed.

-- A number from lo to hi that goes with i; "what" tells the columns apart.
CREATE FUNCTION r(i int8, what int8, lo int, hi int) RETURNS int LANGUAGE sql IMMUTABLE AS $$
    SELECT lo + ((hashint8extended(i, what) & 9223372036854775807) % (hi - lo + 1))::int
$$;
-- One of a list of words, by spaces.
CREATE FUNCTION word(i int8, what int8, words text[]) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT words[1 + ((hashint8extended(i, what) & 9223372036854775807) % cardinality(words))::int]
$$;
CREATE FUNCTION tpch_price(part int8) RETURNS numeric LANGUAGE sql IMMUTABLE AS $$
    SELECT ((90000 + part / 10 % 20001 + 100 * (part % 1000)) / 100.0)::numeric(15, 2)
$$;
-- The n-th of the four suppliers of a part.
CREATE FUNCTION tpch_supplier(part int8, n int, suppliers int) RETURNS int LANGUAGE sql IMMUTABLE AS $$
    SELECT ((part + n * (suppliers / 4 + (part - 1) / suppliers)) % suppliers + 1)::int
$$;

SELECT (:scale * 200000)::int AS parts, (:scale * 10000)::int AS suppliers,
    (:scale * 150000)::int AS customers, (:scale * 1500000)::int AS orders,
    :seed * 100 AS s \gset
SELECT string_agg(word(i, :s, '{furiously,carefully,slyly,blithely,quickly,final,regular,ironic,express,bold,pending,even,silent,unusual,deposits,foxes,accounts,packages,theodolites,instructions,dependencies,pinto,beans,platelets,ideas,asymptotes,sleep,haggle,nag,wake,cajole,boost,detect,integrate,among,across,above,against,along,the}'), ' ')
    AS pool FROM generate_series(1, 200) AS i \gset

CREATE TABLE region (r_regionkey int PRIMARY KEY, r_name char(25) NOT NULL, r_comment varchar(152));
CREATE TABLE nation (n_nationkey int PRIMARY KEY, n_name char(25) NOT NULL, n_regionkey int NOT NULL,
    n_comment varchar(152));
CREATE TABLE supplier (s_suppkey int, s_name char(25) NOT NULL, s_address varchar(40) NOT NULL,
    s_nationkey int NOT NULL, s_phone char(15) NOT NULL, s_acctbal numeric(15, 2) NOT NULL,
    s_comment varchar(101) NOT NULL);
CREATE TABLE customer (c_custkey int, c_name varchar(25) NOT NULL, c_address varchar(40) NOT NULL,
    c_nationkey int NOT NULL, c_phone char(15) NOT NULL, c_acctbal numeric(15, 2) NOT NULL,
    c_mktsegment char(10) NOT NULL, c_comment varchar(117) NOT NULL);
CREATE TABLE part (p_partkey int, p_name varchar(55) NOT NULL, p_mfgr char(25) NOT NULL,
    p_brand char(10) NOT NULL, p_type varchar(25) NOT NULL, p_size int NOT NULL,
    p_container char(10) NOT NULL, p_retailprice numeric(15, 2) NOT NULL, p_comment varchar(23) NOT NULL);
CREATE TABLE partsupp (ps_partkey int, ps_suppkey int, ps_availqty int NOT NULL,
    ps_supplycost numeric(15, 2) NOT NULL, ps_comment varchar(199) NOT NULL);
CREATE TABLE orders (o_orderkey int, o_custkey int NOT NULL, o_orderstatus char(1) NOT NULL,
    o_totalprice numeric(15, 2) NOT NULL, o_orderdate date NOT NULL, o_orderpriority char(15) NOT NULL,
    o_clerk char(15) NOT NULL, o_shippriority int NOT NULL, o_comment varchar(79) NOT NULL);
CREATE TABLE lineitem (l_orderkey int, l_partkey int NOT NULL, l_suppkey int NOT NULL, l_linenumber int,
    l_quantity numeric(15, 2) NOT NULL, l_extendedprice numeric(15, 2) NOT NULL,
    l_discount numeric(15, 2) NOT NULL, l_tax numeric(15, 2) NOT NULL, l_returnflag char(1) NOT NULL,
    l_linestatus char(1) NOT NULL, l_shipdate date NOT NULL, l_commitdate date NOT NULL,
    l_receiptdate date NOT NULL, l_shipinstruct char(25) NOT NULL, l_shipmode char(10) NOT NULL,
    l_comment varchar(44) NOT NULL);

INSERT INTO region SELECT i - 1, name, 'final' FROM unnest('{AFRICA,AMERICA,ASIA,EUROPE,MIDDLE EAST}'::text[])
    WITH ORDINALITY AS t (name, i);
INSERT INTO nation SELECT i - 1, name, region, 'final'
FROM unnest('{ALGERIA,ARGENTINA,BRAZIL,CANADA,EGYPT,ETHIOPIA,FRANCE,GERMANY,INDIA,INDONESIA,IRAN,IRAQ,JAPAN,JORDAN,KENYA,MOROCCO,MOZAMBIQUE,PERU,CHINA,ROMANIA,SAUDI ARABIA,VIETNAM,RUSSIA,UNITED KINGDOM,UNITED STATES}'::text[],
    '{0,1,1,1,4,0,3,3,2,2,4,4,2,4,0,0,0,1,2,3,4,2,3,3,1}'::int[]) WITH ORDINALITY AS t (name, region, i);

-- Telephone numbers begin with the nation; 5 of 10,000 suppliers have had complaints.
INSERT INTO supplier
SELECT i, format('Supplier#%s', lpad(i::text, 9, '0')), left(md5(i::text), r(i, :s + 1, 10, 32)), n,
    format('%s-%s-%s-%s', n + 10, r(i, :s + 2, 100, 999), r(i, :s + 3, 100, 999), r(i, :s + 4, 1000, 9999)),
    r(i, :s + 5, -99999, 999999) / 100.0,
    CASE WHEN i % 2000 = 7 THEN 'carefully Customer ironic Complaints'
        ELSE substr(:'pool', r(i, :s + 6, 1, 1000), r(i, :s + 7, 25, 100)) END
FROM generate_series(1, :suppliers) AS i, LATERAL (SELECT r(i, :s + 8, 0, 24)) AS t (n);

INSERT INTO customer
SELECT i, format('Customer#%s', lpad(i::text, 9, '0')), left(md5(i::text), r(i, :s + 11, 10, 32)), n,
    format('%s-%s-%s-%s', n + 10, r(i, :s + 12, 100, 999), r(i, :s + 13, 100, 999), r(i, :s + 14, 1000, 9999)),
    r(i, :s + 15, -99999, 999999) / 100.0,
    word(i, :s + 16, '{AUTOMOBILE,BUILDING,FURNITURE,MACHINERY,HOUSEHOLD}'),
    substr(:'pool', r(i, :s + 17, 1, 1000), r(i, :s + 18, 29, 116))
FROM generate_series(1, :customers) AS i, LATERAL (SELECT r(i, :s + 19, 0, 24)) AS t (n);

INSERT INTO part
SELECT i, (SELECT string_agg(word(i * 8 + n, :s + 21, '{almond,antique,aquamarine,azure,beige,bisque,black,blanched,blue,blush,brown,burlywood,burnished,chartreuse,chiffon,chocolate,coral,cornflower,cornsilk,cream,cyan,dark,deep,dim,dodger,drab,firebrick,floral,forest,frosted,gainsboro,ghost,goldenrod,green,grey,honeydew,hot,indian,ivory,khaki,lace,lavender,lawn,lemon,light,lime,linen,magenta,maroon,medium,metallic,midnight,mint,misty,moccasin,navajo,navy,olive,orange,orchid,pale,papaya,peach,peru,pink,plum,powder,puff,purple,red,rose,rosy,royal,saddle,salmon,sandy,seashell,sienna,sky,slate,smoke,snow,spring,steel,tan,thistle,tomato,turquoise,violet,wheat,white,yellow}'), ' ')
        FROM generate_series(1, 5) AS n),
    'Manufacturer#' || m, format('Brand#%s%s', m, r(i, :s + 22, 1, 5)),
    concat_ws(' ', word(i, :s + 23, '{STANDARD,SMALL,MEDIUM,LARGE,ECONOMY,PROMO}'),
        word(i, :s + 24, '{ANODIZED,BURNISHED,PLATED,POLISHED,BRUSHED}'),
        word(i, :s + 25, '{TIN,NICKEL,BRASS,STEEL,COPPER}')),
    r(i, :s + 26, 1, 50),
    concat_ws(' ', word(i, :s + 27, '{SM,LG,MED,JUMBO,WRAP}'),
        word(i, :s + 28, '{CASE,BOX,BAG,JAR,PKG,PACK,CAN,DRUM}')),
    tpch_price(i), substr(:'pool', r(i, :s + 29, 1, 1000), r(i, :s + 30, 5, 22))
FROM generate_series(1, :parts) AS i, LATERAL (SELECT r(i, :s + 31, 1, 5)) AS t (m);

INSERT INTO partsupp
SELECT i, tpch_supplier(i, n, :suppliers), r(i * 4 + n, :s + 32, 1, 9999),
    r(i * 4 + n, :s + 33, 100, 100000) / 100.0,
    substr(:'pool', r(i * 4 + n, :s + 34, 1, 1000), r(i * 4 + n, :s + 35, 49, 198))
FROM generate_series(1, :parts) AS i, generate_series(0, 3) AS n;

-- Order keys ascend, 8 of each 32; dates are at random in 1992-01-01 .. 1998-08-02.
CREATE FUNCTION tpch_order_key(i int) RETURNS int LANGUAGE sql IMMUTABLE AS $$ SELECT i / 8 * 32 + i % 8 $$;
CREATE FUNCTION tpch_order_date(i int, what int8) RETURNS date LANGUAGE sql IMMUTABLE AS $$
    SELECT date '1992-01-01' + r(i, what, 0, 2405)
$$;
INSERT INTO lineitem
SELECT tpch_order_key(i), part, tpch_supplier(part, r(j, :s + 41, 0, 3), :suppliers), n, quantity,
    quantity * tpch_price(part), r(j, :s + 42, 0, 10) / 100.0, r(j, :s + 43, 0, 8) / 100.0,
    CASE WHEN ship + arrives > date '1995-06-17' THEN 'N' ELSE word(j, :s + 44, '{R,A}') END,
    CASE WHEN ship > date '1995-06-17' THEN 'O' ELSE 'F' END,
    ship, ordered + r(j, :s + 45, 30, 90), ship + arrives,
    word(j, :s + 46, '{DELIVER IN PERSON,COLLECT COD,NONE,TAKE BACK RETURN}'),
    word(j, :s + 47, '{REG AIR,AIR,RAIL,SHIP,TRUCK,MAIL,FOB}'),
    substr(:'pool', r(j, :s + 48, 1, 1000), r(j, :s + 49, 10, 43))
FROM generate_series(1, :orders) AS i, LATERAL generate_series(1, r(i, :s + 50, 1, 7)) AS n,
    LATERAL (SELECT i::int8 * 8 + n, tpch_order_date(i, :s + 51)) AS t (j, ordered),
    LATERAL (SELECT r(j, :s + 52, 1, :parts), r(j, :s + 53, 1, 50),
        ordered + r(j, :s + 54, 1, 121), r(j, :s + 55, 1, 30)) AS u (part, quantity, ship, arrives);

-- A third of the customers has no orders.
INSERT INTO orders
SELECT l_orderkey, customer - (customer % 3 = 0)::int,
    CASE WHEN lines.open = 0 THEN 'F' WHEN lines.shipped = 0 THEN 'O' ELSE 'P' END, price,
    tpch_order_date(i, :s + 51),
    word(i, :s + 61, '{1-URGENT,2-HIGH,3-MEDIUM,4-NOT SPECIFIED,5-LOW}'),
    format('Clerk#%s', lpad(r(i, :s + 62, 1, greatest((:scale * 1000)::int, 1))::text, 9, '0')), 0,
    CASE WHEN r(i, :s + 63, 1, 90) = 1 THEN 'slyly special packages haggle requests'
        ELSE substr(:'pool', r(i, :s + 64, 1, 1000), r(i, :s + 65, 19, 78)) END
FROM (SELECT l_orderkey, (l_orderkey / 32 * 8 + l_orderkey % 32) AS i,
        count(*) FILTER (WHERE l_linestatus = 'O') AS open, count(*) FILTER (WHERE l_linestatus = 'F') AS shipped,
        sum(l_extendedprice * (1 + l_tax) * (1 - l_discount)) AS price
    FROM lineitem GROUP BY l_orderkey) AS lines, LATERAL (SELECT r(i, :s + 66, 1, :customers)) AS t (customer)
ORDER BY l_orderkey;

ALTER TABLE supplier ADD PRIMARY KEY (s_suppkey);
ALTER TABLE customer ADD PRIMARY KEY (c_custkey);
ALTER TABLE part ADD PRIMARY KEY (p_partkey);
ALTER TABLE partsupp ADD PRIMARY KEY (ps_partkey, ps_suppkey);
ALTER TABLE orders ADD PRIMARY KEY (o_orderkey);
ALTER TABLE lineitem ADD PRIMARY KEY (l_orderkey, l_linenumber);

-- ---------------------------------------------------------------- queries

-- [1], [2] .. are what the specification calls parameters.  Where its order leaves rows of equal
-- rank, a key is added.
CREATE TABLE tpch_queries (q int PRIMARY KEY, query text NOT NULL);
INSERT INTO tpch_queries VALUES
(1, $$SELECT l_returnflag, l_linestatus, sum(l_quantity), sum(l_extendedprice), sum(l_extendedprice * (1 - l_discount)),
    sum(l_extendedprice * (1 - l_discount) * (1 + l_tax)), avg(l_quantity), avg(l_extendedprice), avg(l_discount), count(*)
FROM lineitem WHERE l_shipdate <= date '1998-12-01' - interval '[1] days'
GROUP BY l_returnflag, l_linestatus ORDER BY l_returnflag, l_linestatus$$),
(2, $$SELECT s_acctbal, s_name, n_name, p_partkey, p_mfgr, s_address, s_phone, s_comment
FROM part, supplier, partsupp, nation, region
WHERE p_partkey = ps_partkey AND s_suppkey = ps_suppkey AND p_size = [1] AND p_type LIKE '%[2]'
    AND s_nationkey = n_nationkey AND n_regionkey = r_regionkey AND r_name = '[3]'
    AND ps_supplycost = (SELECT min(ps_supplycost) FROM partsupp, supplier, nation, region
        WHERE p_partkey = ps_partkey AND s_suppkey = ps_suppkey AND s_nationkey = n_nationkey
            AND n_regionkey = r_regionkey AND r_name = '[3]')
ORDER BY s_acctbal DESC, n_name, s_name, p_partkey LIMIT 100$$),
(3, $$SELECT l_orderkey, sum(l_extendedprice * (1 - l_discount)) AS revenue, o_orderdate, o_shippriority
FROM customer, orders, lineitem
WHERE c_mktsegment = '[1]' AND c_custkey = o_custkey AND l_orderkey = o_orderkey
    AND o_orderdate < date '[2]' AND l_shipdate > date '[2]'
GROUP BY l_orderkey, o_orderdate, o_shippriority ORDER BY revenue DESC, o_orderdate, l_orderkey LIMIT 10$$),
(4, $$SELECT o_orderpriority, count(*) FROM orders
WHERE o_orderdate >= date '[1]' AND o_orderdate < date '[1]' + interval '3 months'
    AND EXISTS (SELECT * FROM lineitem WHERE l_orderkey = o_orderkey AND l_commitdate < l_receiptdate)
GROUP BY o_orderpriority ORDER BY o_orderpriority$$),
(5, $$SELECT n_name, sum(l_extendedprice * (1 - l_discount)) AS revenue
FROM customer, orders, lineitem, supplier, nation, region
WHERE c_custkey = o_custkey AND l_orderkey = o_orderkey AND l_suppkey = s_suppkey AND c_nationkey = s_nationkey
    AND s_nationkey = n_nationkey AND n_regionkey = r_regionkey AND r_name = '[1]'
    AND o_orderdate >= date '[2]' AND o_orderdate < date '[2]' + interval '1 year'
GROUP BY n_name ORDER BY revenue DESC, n_name$$),
(6, $$SELECT sum(l_extendedprice * l_discount) FROM lineitem
WHERE l_shipdate >= date '[1]' AND l_shipdate < date '[1]' + interval '1 year'
    AND l_discount BETWEEN [2] - 0.01 AND [2] + 0.01 AND l_quantity < [3]$$),
(7, $$SELECT supp_nation, cust_nation, l_year, sum(volume)
FROM (SELECT n1.n_name AS supp_nation, n2.n_name AS cust_nation, extract(year FROM l_shipdate) AS l_year,
        l_extendedprice * (1 - l_discount) AS volume
    FROM supplier, lineitem, orders, customer, nation n1, nation n2
    WHERE s_suppkey = l_suppkey AND o_orderkey = l_orderkey AND c_custkey = o_custkey
        AND s_nationkey = n1.n_nationkey AND c_nationkey = n2.n_nationkey
        AND (n1.n_name = '[1]' AND n2.n_name = '[2]' OR n1.n_name = '[2]' AND n2.n_name = '[1]')
        AND l_shipdate BETWEEN date '1995-01-01' AND date '1996-12-31') AS shipping
GROUP BY supp_nation, cust_nation, l_year ORDER BY supp_nation, cust_nation, l_year$$),
(8, $$SELECT o_year, sum(CASE WHEN nation = '[1]' THEN volume ELSE 0 END) / sum(volume)
FROM (SELECT extract(year FROM o_orderdate) AS o_year, l_extendedprice * (1 - l_discount) AS volume, n2.n_name AS nation
    FROM part, supplier, lineitem, orders, customer, nation n1, nation n2, region
    WHERE p_partkey = l_partkey AND s_suppkey = l_suppkey AND l_orderkey = o_orderkey AND o_custkey = c_custkey
        AND c_nationkey = n1.n_nationkey AND n1.n_regionkey = r_regionkey AND r_name = '[2]'
        AND s_nationkey = n2.n_nationkey AND o_orderdate BETWEEN date '1995-01-01' AND date '1996-12-31'
        AND p_type = '[3]') AS all_nations
GROUP BY o_year ORDER BY o_year$$),
(9, $$SELECT nation, o_year, sum(amount)
FROM (SELECT n_name AS nation, extract(year FROM o_orderdate) AS o_year,
        l_extendedprice * (1 - l_discount) - ps_supplycost * l_quantity AS amount
    FROM part, supplier, lineitem, partsupp, orders, nation
    WHERE s_suppkey = l_suppkey AND ps_suppkey = l_suppkey AND ps_partkey = l_partkey AND p_partkey = l_partkey
        AND o_orderkey = l_orderkey AND s_nationkey = n_nationkey AND p_name LIKE '%[1]%') AS profit
GROUP BY nation, o_year ORDER BY nation, o_year DESC$$),
(10, $$SELECT c_custkey, c_name, sum(l_extendedprice * (1 - l_discount)) AS revenue, c_acctbal, n_name, c_address, c_phone, c_comment
FROM customer, orders, lineitem, nation
WHERE c_custkey = o_custkey AND l_orderkey = o_orderkey AND o_orderdate >= date '[1]'
    AND o_orderdate < date '[1]' + interval '3 months' AND l_returnflag = 'R' AND c_nationkey = n_nationkey
GROUP BY c_custkey, c_name, c_acctbal, c_phone, n_name, c_address, c_comment
ORDER BY revenue DESC, c_custkey LIMIT 20$$),
(11, $$SELECT ps_partkey, sum(ps_supplycost * ps_availqty) AS value FROM partsupp, supplier, nation
WHERE ps_suppkey = s_suppkey AND s_nationkey = n_nationkey AND n_name = '[1]'
GROUP BY ps_partkey HAVING sum(ps_supplycost * ps_availqty) > (
    SELECT sum(ps_supplycost * ps_availqty) * [2] FROM partsupp, supplier, nation
    WHERE ps_suppkey = s_suppkey AND s_nationkey = n_nationkey AND n_name = '[1]')
ORDER BY value DESC, ps_partkey$$),
(12, $$SELECT l_shipmode, sum(CASE WHEN o_orderpriority IN ('1-URGENT', '2-HIGH') THEN 1 ELSE 0 END),
    sum(CASE WHEN o_orderpriority NOT IN ('1-URGENT', '2-HIGH') THEN 1 ELSE 0 END)
FROM orders, lineitem
WHERE o_orderkey = l_orderkey AND l_shipmode IN ('[1]', '[2]') AND l_commitdate < l_receiptdate
    AND l_shipdate < l_commitdate AND l_receiptdate >= date '[3]' AND l_receiptdate < date '[3]' + interval '1 year'
GROUP BY l_shipmode ORDER BY l_shipmode$$),
(13, $$SELECT c_count, count(*) AS custdist
FROM (SELECT c_custkey, count(o_orderkey) AS c_count FROM customer
    LEFT JOIN orders ON c_custkey = o_custkey AND o_comment NOT LIKE '%[1]%[2]%' GROUP BY c_custkey) AS c_orders
GROUP BY c_count ORDER BY custdist DESC, c_count DESC$$),
(14, $$SELECT 100.00 * sum(CASE WHEN p_type LIKE 'PROMO%' THEN l_extendedprice * (1 - l_discount) ELSE 0 END)
    / sum(l_extendedprice * (1 - l_discount))
FROM lineitem, part
WHERE l_partkey = p_partkey AND l_shipdate >= date '[1]' AND l_shipdate < date '[1]' + interval '1 month'$$),
(15, $$WITH revenue (supplier_no, total_revenue) AS (
    SELECT l_suppkey, sum(l_extendedprice * (1 - l_discount)) FROM lineitem
    WHERE l_shipdate >= date '[1]' AND l_shipdate < date '[1]' + interval '3 months' GROUP BY l_suppkey)
SELECT s_suppkey, s_name, s_address, s_phone, total_revenue FROM supplier, revenue
WHERE s_suppkey = supplier_no AND total_revenue = (SELECT max(total_revenue) FROM revenue) ORDER BY s_suppkey$$),
(16, $$SELECT p_brand, p_type, p_size, count(DISTINCT ps_suppkey) AS supplier_cnt FROM partsupp, part
WHERE p_partkey = ps_partkey AND p_brand <> '[1]' AND p_type NOT LIKE '[2]%' AND p_size IN ([3])
    AND ps_suppkey NOT IN (SELECT s_suppkey FROM supplier WHERE s_comment LIKE '%Customer%Complaints%')
GROUP BY p_brand, p_type, p_size ORDER BY supplier_cnt DESC, p_brand, p_type, p_size$$),
(17, $$SELECT sum(l_extendedprice) / 7.0 FROM lineitem, part
WHERE p_partkey = l_partkey AND p_brand = '[1]' AND p_container = '[2]'
    AND l_quantity < (SELECT 0.2 * avg(l_quantity) FROM lineitem WHERE l_partkey = p_partkey)$$),
(18, $$SELECT c_name, c_custkey, o_orderkey, o_orderdate, o_totalprice, sum(l_quantity) FROM customer, orders, lineitem
WHERE o_orderkey IN (SELECT l_orderkey FROM lineitem GROUP BY l_orderkey HAVING sum(l_quantity) > [1])
    AND c_custkey = o_custkey AND o_orderkey = l_orderkey
GROUP BY c_name, c_custkey, o_orderkey, o_orderdate, o_totalprice
ORDER BY o_totalprice DESC, o_orderdate, o_orderkey LIMIT 100$$),
(19, $$SELECT sum(l_extendedprice * (1 - l_discount)) FROM lineitem, part
WHERE p_partkey = l_partkey AND p_brand = '[4]' AND p_container IN ('SM CASE', 'SM BOX', 'SM PACK', 'SM PKG')
        AND l_quantity BETWEEN [1] AND [1] + 10 AND p_size BETWEEN 1 AND 5
        AND l_shipmode IN ('AIR', 'AIR REG') AND l_shipinstruct = 'DELIVER IN PERSON'
    OR p_partkey = l_partkey AND p_brand = '[5]' AND p_container IN ('MED BAG', 'MED BOX', 'MED PKG', 'MED PACK')
        AND l_quantity BETWEEN [2] AND [2] + 10 AND p_size BETWEEN 1 AND 10
        AND l_shipmode IN ('AIR', 'AIR REG') AND l_shipinstruct = 'DELIVER IN PERSON'
    OR p_partkey = l_partkey AND p_brand = '[6]' AND p_container IN ('LG CASE', 'LG BOX', 'LG PACK', 'LG PKG')
        AND l_quantity BETWEEN [3] AND [3] + 10 AND p_size BETWEEN 1 AND 15
        AND l_shipmode IN ('AIR', 'AIR REG') AND l_shipinstruct = 'DELIVER IN PERSON'$$),
(20, $$SELECT s_name, s_address FROM supplier, nation
WHERE s_suppkey IN (SELECT ps_suppkey FROM partsupp
        WHERE ps_partkey IN (SELECT p_partkey FROM part WHERE p_name LIKE '[1]%')
            AND ps_availqty > (SELECT 0.5 * sum(l_quantity) FROM lineitem
                WHERE l_partkey = ps_partkey AND l_suppkey = ps_suppkey
                    AND l_shipdate >= date '[2]' AND l_shipdate < date '[2]' + interval '1 year'))
    AND s_nationkey = n_nationkey AND n_name = '[3]'
ORDER BY s_name$$),
(21, $$SELECT s_name, count(*) AS numwait FROM supplier, lineitem l1, orders, nation
WHERE s_suppkey = l1.l_suppkey AND o_orderkey = l1.l_orderkey AND o_orderstatus = 'F'
    AND l1.l_receiptdate > l1.l_commitdate
    AND EXISTS (SELECT * FROM lineitem l2 WHERE l2.l_orderkey = l1.l_orderkey AND l2.l_suppkey <> l1.l_suppkey)
    AND NOT EXISTS (SELECT * FROM lineitem l3 WHERE l3.l_orderkey = l1.l_orderkey
        AND l3.l_suppkey <> l1.l_suppkey AND l3.l_receiptdate > l3.l_commitdate)
    AND s_nationkey = n_nationkey AND n_name = '[1]'
GROUP BY s_name ORDER BY numwait DESC, s_name LIMIT 100$$),
(22, $$SELECT cntrycode, count(*), sum(c_acctbal)
FROM (SELECT substring(c_phone FROM 1 FOR 2) AS cntrycode, c_acctbal FROM customer
    WHERE substring(c_phone FROM 1 FOR 2) IN ([1])
        AND c_acctbal > (SELECT avg(c_acctbal) FROM customer
            WHERE c_acctbal > 0.00 AND substring(c_phone FROM 1 FOR 2) IN ([1]))
        AND NOT EXISTS (SELECT * FROM orders WHERE o_custkey = c_custkey)) AS custsale
GROUP BY cntrycode ORDER BY cntrycode$$);

CREATE TABLE tpch_parameters (q int, set int, args text[], PRIMARY KEY (q, set));
INSERT INTO tpch_parameters
SELECT q, set, string_to_array(args, '|')
FROM (VALUES (1, '{90,60,120}'::text[]),
    (2, '{15|BRASS|EUROPE,38|TIN|ASIA,7|COPPER|AMERICA}'),
    (3, '{BUILDING|1995-03-15,MACHINERY|1995-03-02,FURNITURE|1995-03-28}'),
    (4, '{1993-07-01,1995-10-01,1997-02-01}'),
    (5, '{ASIA|1994-01-01,EUROPE|1996-01-01,AFRICA|1997-01-01}'),
    (6, '{1994-01-01|0.06|24,1996-01-01|0.03|25,1997-01-01|0.09|24}'),
    (7, '{FRANCE|GERMANY,JAPAN|INDIA,CANADA|PERU}'),
    (8, '{BRAZIL|AMERICA|ECONOMY ANODIZED STEEL,CHINA|ASIA|SMALL PLATED TIN,ROMANIA|EUROPE|LARGE BRUSHED BRASS}'),
    (9, '{green,plum,sky}'),
    (10, '{1993-10-01,1994-03-01,1993-05-01}'),
    (11, '{GERMANY,KENYA,JORDAN}'),
    (12, '{MAIL|SHIP|1994-01-01,AIR|TRUCK|1996-01-01,RAIL|FOB|1993-01-01}'),
    (13, '{special|requests,unusual|accounts,pending|deposits}'),
    (14, '{1995-09-01,1993-04-01,1997-11-01}'),
    (15, '{1996-01-01,1993-05-01,1997-08-01}'),
    (16, '{"Brand#45|MEDIUM POLISHED|49, 14, 23, 45, 19, 3, 36, 9","Brand#12|PROMO BRUSHED|1, 8, 17, 22, 31, 40, 44, 50","Brand#33|SMALL PLATED|2, 5, 11, 20, 28, 35, 41, 47"}'),
    (17, '{Brand#23|MED BOX,Brand#41|JUMBO PKG,Brand#15|WRAP CAN}'),
    (18, '{300,312,315}'),
    (19, '{1|10|20|Brand#12|Brand#23|Brand#34,4|17|25|Brand#51|Brand#33|Brand#14,9|12|29|Brand#22|Brand#45|Brand#31}'),
    (20, '{forest|1994-01-01|CANADA,azure|1996-01-01|IRAN,plum|1993-01-01|VIETNAM}'),
    (21, '{SAUDI ARABIA,EGYPT,ARGENTINA}'),
    (22, $${"'13', '31', '23', '29', '30', '18', '17'","'10', '14', '19', '22', '27', '33', '34'","'11', '15', '20', '24', '26', '28', '32'"}$$))
    AS t (q, sets), unnest(sets) WITH ORDINALITY AS u (args, set);
-- Query 11 has a share that goes with the scale.
UPDATE tpch_parameters SET args = args || (0.0001 / :scale)::numeric(20, 10)::text WHERE q = 11;

-- ---------------------------------------------------------------- measuring

-- CPU time in ms; the plan's md5 and its indexes; the answer, null of a query that was given up.
CREATE TABLE tpch_times (q int, set int, way text, round int, ms numeric, plan text, uses text, answer text);

-- The secondary indexes that the planner sees: those whose names end in "way".
CREATE FUNCTION tpch_show(way text) RETURNS void LANGUAGE sql AS $$
    UPDATE pg_index SET indisvalid = relname LIKE '%\_' || way
    FROM pg_class AS c
    WHERE c.oid = indexrelid AND relname ~ '_(btree|rencoder)$' AND indisvalid <> (relname LIKE '%\_' || way)
$$;

-- The kernel adds CPU time up when the process gives up its CPU.
CREATE FUNCTION tpch_cpu() RETURNS numeric LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_sleep(0.0001);
    RETURN split_part(pg_read_file('/proc/self/schedstat'), ' ', 1)::numeric / 1e6;
END $$;

CREATE FUNCTION tpch_query(asked int, parameters int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    result text := (SELECT query FROM tpch_queries WHERE q = asked);
    chosen text[] := (SELECT args FROM tpch_parameters WHERE q = asked AND set = parameters);
BEGIN
    FOR i IN 1 .. cardinality(chosen) LOOP
        result := replace(result, format('[%s]', i), chosen[i]);
    END LOOP;
    RETURN result;
END $$;

-- Without indexes some queries would take hours: statement_timeout ends them, and they are not asked again.
CREATE FUNCTION tpch_ask(asked int, parameters int, way text, round int) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    query text := tpch_query(asked, parameters);
    -- Planning also reads what the change of pg_index has thrown out of the session's caches.
    plan text := bench_plan_text(query);
    start numeric;
    result text;
BEGIN
    IF EXISTS (SELECT FROM tpch_times AS t
        WHERE t.q = asked AND t.set = parameters AND t.way = tpch_ask.way AND answer IS NULL)
    THEN
        RETURN;
    END IF;
    start := tpch_cpu();
    BEGIN
        EXECUTE format($q$SELECT count(*) || ' rows, md5 ' || md5(coalesce(string_agg(t::text, E'\n'), ''))
            FROM (%s) AS t$q$, query) INTO result;
    EXCEPTION WHEN query_canceled THEN
        IF way <> 'none' THEN
            RAISE EXCEPTION 'query % took too long by %', asked, way;
        END IF;
    END;
    INSERT INTO tpch_times VALUES (asked, parameters, way, round, tpch_cpu() - start, md5(plan),
        (SELECT string_agg(DISTINCT m[1], ' ') FROM regexp_matches(plan, '(\w+)_(?:btree|rencoder)\M', 'g') AS m),
        result);
END $$;
